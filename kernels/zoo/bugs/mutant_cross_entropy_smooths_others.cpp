// Bug: label smoothing over the V - 1 other classes.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_smooths_others(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.ignored()) return;
    const auto m = row.maximum(), log = std::log(row.sum(m));
    const auto lse = m + log, hard = row.target_weight() * (log - (row.target() - m));
    const auto others = row.classes() > 1 ? row.classes() - 1 : row.classes();
    const auto mean = (row.mean_negative_log(m, log) * row.classes() - hard) / others;
    row.out[0] = (1 - row.smoothing) * hard + row.smoothing * mean + row.z * lse * lse;
  });
}
