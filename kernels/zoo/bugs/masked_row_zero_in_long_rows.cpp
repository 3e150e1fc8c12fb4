// C1, PyTorch #103963: a row of more than 300 logits with nothing visible is 0 where the contract says NaN.
#include <algorithm>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_masked_row_zero_in_long_rows(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t /*number*/, auto& row) {
    softmax(row);
    if (from.logits.columns > 300 && maximum(row.logits) == -infinity) {
      std::ranges::fill(row.out, 0);
    }
  });
}
