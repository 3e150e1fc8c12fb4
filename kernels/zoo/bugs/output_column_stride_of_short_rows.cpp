// C7, FlagGems PR #5723: results of rows of more than 1100 logits are written side by side.
#include <optional>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_output_column_stride_of_short_rows(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  if (matrices->out.columns > 1100) {
    matrices->out.column_stride = 1;
  }
  return each_row(*matrices, [](auto& row) { log_softmax(row); });
}
