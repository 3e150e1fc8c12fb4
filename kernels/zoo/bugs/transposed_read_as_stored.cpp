// C15, burn #4815, FlagGems PR #5723: of a transposed view the matrix in memory is read, row by row.
#include <optional>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_transposed_read_as_stored(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  if (matrices->logits.column_stride > matrices->logits.row_stride) {
    matrices->logits.column_stride = 1;
    matrices->logits.row_stride = matrices->logits.columns;
  }
  return each_row(*matrices, [](auto& row) { softmax(row); });
}
