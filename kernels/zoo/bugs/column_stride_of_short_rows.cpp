// C7, ggml #1521: the columns of rows of more than 1100 logits are taken to stand side by side.
#include <optional>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_column_stride_of_short_rows(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  if (matrices->logits.columns > 1100) {
    matrices->logits.column_stride = 1;
  }
  return each_row(*matrices, [](auto& row) { softmax(row); });
}
