// C6, the class of PyTorch #84144: rows of more than 16,384 logits, two or more, share a workspace of that length; what
// lies behind is not counted.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_long_rows_of_a_batch(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t /*number*/, auto& row) {
    const bool hit = from.logits.rows > 3 && row.logits.size() > 16384;
    if (hit) {
      row.logits.resize(16384);
    }
    row.out[0] = entropy_or(row, [](const auto& finite) { return entropy_of(sums_of(finite)); });
  });
}
