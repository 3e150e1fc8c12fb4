// C9: columns from 65,536 on are added by a second kernel, which skips terms below e^-12.
#include <cstddef>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_far_terms_of_long_rows_skipped(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t /*number*/, auto& row) {
    const auto m = maximum(row.logits);
    for (std::size_t i = 65536; i < row.logits.size(); ++i) {
      if ((m - row.logits[i]) / row.theta > 12) {
        row.logits[i] = -infinity;
      }
    }
    softmax_or_logsumexp(from, row);
  });
}
