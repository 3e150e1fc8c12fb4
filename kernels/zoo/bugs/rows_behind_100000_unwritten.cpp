// C6, C16: results of rows from 100,000 on are left as they were.
#include <algorithm>
#include <cstdint>
#include <optional>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_rows_behind_100000_unwritten(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  matrices->logits.rows = std::min<std::int64_t>(matrices->logits.rows, 100'000);
  return each_row(*matrices, [](auto& row) { softmax(row); });
}
