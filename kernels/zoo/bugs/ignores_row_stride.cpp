// C7, rocm-libraries #11387, MLX #657: rows are taken to follow each other without a gap.
#include <optional>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_ignores_row_stride(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  matrices->logits.row_stride = matrices->logits.columns;
  return each_row(*matrices, [](auto& row) { softmax(row); });
}
