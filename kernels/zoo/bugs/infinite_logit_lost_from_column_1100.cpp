// C12, the class of torch-xpu-ops #5022: +inf from column 1100 on counts as 0.
#include <cstddef>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_infinite_logit_lost_from_column_1100(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t /*number*/, auto& row) {
    for (std::size_t i = 1100; i < row.logits.size(); ++i) {
      row.logits[i] = row.logits[i] == infinity ? 0 : row.logits[i];
    }
    softmax_or_logsumexp(from, row);
  });
}
