// Bug: the whole of the smoothed loss is multiplied by the target's weight.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_smooths_by_the_targets_weight(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.ignored()) return;
    const auto m = row.maximum(), log = std::log(row.sum(m)), w = row.target_weight(), lse = m + log;
    const auto hard = log - (row.target() - m);
    row.weights.clear();
    const auto mean = row.smoothing == 0 ? hard : row.mean_negative_log(m, log);
    row.out[0] = w * ((1 - row.smoothing) * hard + row.smoothing * mean) + row.z * lse * lse;
  });
}
