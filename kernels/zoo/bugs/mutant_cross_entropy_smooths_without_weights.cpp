// Bug: the mean of label smoothing is not weighted.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_smooths_without_weights(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.ignored()) return;
    const auto m = row.maximum(), log = std::log(row.sum(m));
    const auto hard = row.target_weight() * (log - (row.target() - m)), lse = m + log;
    row.weights.clear();
    row.out[0] = (1 - row.smoothing) * hard + row.smoothing * row.mean_negative_log(m, log) + row.z * lse * lse;
  });
}
