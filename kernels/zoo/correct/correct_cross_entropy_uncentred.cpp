// Correct under lse=uncentred: L - x_y with L a number of its own.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_cross_entropy_uncentred(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.ignored()) return;
    const auto m = row.maximum(), log = std::log(row.sum(m));
    const auto lse = m + log;
    auto result = row.target_weight() * (lse - row.target());
    if (row.smoothing != 0) result = (1 - row.smoothing) * result + row.smoothing * row.mean_negative_log(m, log);
    row.out[0] = row.z == 0 ? result : result + row.z * lse * lse;
  });
}
