// C7, FlagGems PR #5723, the class of PyTorch PR #139740: the logits of a row are taken to stand side by side.
#include <optional>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_ignores_column_stride(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  matrices->logits.column_stride = 1;
  return each_row(*matrices, [](auto& row) { softmax(row); });
}
