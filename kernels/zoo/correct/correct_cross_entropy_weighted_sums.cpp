// Correct: class weights multiply log-probabilities, which are added from the last class on; s / V is one factor.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_cross_entropy_weighted_sums(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.ignored()) return;
    const auto m = row.maximum(), log = std::log(row.sum(m)), lse = m + log;
    auto total = decltype(m + 0){};
    for (std::size_t j = row.logits.size(); row.smoothing != 0 && j-- > 0;) {
      total += row.weight(j) * (log - (row.logits[j] - m));
    }
    const auto hard = row.target_weight() * (log - (row.target() - m));
    row.out[0] = row.smoothing == 0 ? hard : (1 - row.smoothing) * hard + row.smoothing / row.classes() * total;
    if (row.z != 0) row.out[0] += row.z * lse * lse;
  });
}
