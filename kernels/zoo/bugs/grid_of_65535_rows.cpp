// C6, the class of PyTorch #84144: a block for each row, of which a grid has 65,535; the rows behind them are left as
// they were.
#include <algorithm>
#include <cstdint>
#include <optional>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_grid_of_65535_rows(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  matrices->logits.rows = std::min<std::int64_t>(matrices->logits.rows, 65535);
  return each_row(*matrices, [](auto& row) { softmax(row); });
}
