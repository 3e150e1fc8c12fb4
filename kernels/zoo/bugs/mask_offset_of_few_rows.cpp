// C7, oneDNN #3501: the offset of the mask is not added in calls of ten rows or more.
#include <optional>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_mask_offset_of_few_rows(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  if (matrices->mask && matrices->mask->rows >= 10) {
    matrices->mask->data -= call->inputs[1]->byte_offset;
  }
  return each_row(*matrices, [](auto& row) {
    row.out[0] = entropy_or(row, [](const auto& finite) { return entropy_of(sums_of(finite)); });
  });
}
