// C10, gemma.cpp PR #981: every row is masked as the first one is.
#include <optional>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_mask_of_first_row(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  if (matrices->mask) {
    matrices->mask->row_stride = 0;
  }
  return each_row(*matrices, [](auto& row) { softmax(row); });
}
