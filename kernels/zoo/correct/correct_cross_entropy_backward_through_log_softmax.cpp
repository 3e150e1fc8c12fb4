// Correct: the gradients g of the log-probabilities first, as torch has them, then g - p sum g.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_cross_entropy_backward_through_log_softmax(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, [](auto& row) {
    if (row.ignored()) return;
    const auto m = row.maximum(), s = row.sum(m), lse = m + std::log(s);
    auto total = decltype(m + 0){};
    auto g = row.logits;
    for (std::size_t j = 0; j < g.size(); ++j) {
      g[j] = -(row.smoothing / row.classes()) * row.weight(j);
      if (static_cast<std::int64_t>(j) == row.label) g[j] -= (1 - row.smoothing) * row.weight(j);
      total += g[j];
    }
    for (std::size_t j = 0; j < g.size(); ++j) {
      const auto p = std::exp(row.logits[j] - m) / s;
      const auto behind = (2 * row.z * lse - total) * p + g[j];
      row.out[j] = row.upstream * (row.cap == 0 ? behind : behind * row.cap_slope(j));
    }
  });
}
