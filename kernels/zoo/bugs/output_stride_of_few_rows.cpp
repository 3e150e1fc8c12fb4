// C7, the class of FlagGems PR #5723: one value of each row, those from row 16 on are written side by side.
#include <optional>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_output_stride_of_few_rows(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  if (matrices->logits.rows > 16) {
    matrices->out.row_stride = 1;
  }
  return each_row(*matrices, [](auto& row) {
    row.out[0] = entropy_or(row, [](const auto& finite) { return entropy_of(sums_of(finite)); });
  });
}
