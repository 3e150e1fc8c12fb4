// C7, apex PR #1568: the mask is read as if its rows followed each other without a gap.
#include <optional>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_mask_taken_as_compact(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  if (matrices->mask) {
    matrices->mask->row_stride = matrices->mask->columns;
    matrices->mask->column_stride = 1;
  }
  return each_row(*matrices, [](auto& row) { softmax(row); });
}
