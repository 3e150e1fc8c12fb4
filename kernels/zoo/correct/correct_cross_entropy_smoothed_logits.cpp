// Correct: label smoothing as L less the mean of the logits.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_cross_entropy_smoothed_logits(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.ignored()) return;
    const auto m = row.maximum(), log = std::log(row.sum(m));
    const auto lse = m + log;
    auto result = row.target_weight() * (log - (row.target() - m));
    if (row.smoothing != 0) {
      auto total = decltype(lse){};
      for (std::size_t j = 0; j < row.logits.size(); ++j) total += row.weight(j) * row.logits[j];
      result = (1 - row.smoothing) * result + row.smoothing * (row.mean_weight() * lse - total / row.classes());
    }
    row.out[0] = row.z == 0 ? result : result + row.z * lse * lse;
  });
}
