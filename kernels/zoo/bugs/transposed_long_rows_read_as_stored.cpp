// C15, TVM #19420: a matrix whose columns lie closer together than its rows is read as it lies where a row has more
// than 1100 logits.
#include <optional>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_transposed_long_rows_read_as_stored(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  if (matrices->logits.row_stride == 1 && matrices->logits.columns > 1100 && matrices->logits.rows > 1) {
    matrices->logits.row_stride = matrices->logits.columns;
    matrices->logits.column_stride = 1;
  }
  return each_row(*matrices, [](auto& row) { log_softmax(row); });
}
