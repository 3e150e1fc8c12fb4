// C1, PyTorch #41508: from row 512 on a row with nothing visible is 0 where the contract says NaN.
#include <algorithm>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_masked_row_zero_from_row_512(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& /*from*/, std::int64_t number, auto& row) {
    softmax(row);
    if (number >= 512 && maximum(row.logits) == -infinity) {
      std::ranges::fill(row.out, 0);
    }
  });
}
