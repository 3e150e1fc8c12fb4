// Bug: label smoothing is not looked at, as in Liger-Kernel issue 243.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_drops_smoothing(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    row.smoothing = 0;
    if (row.ignored()) return;
    const auto m = row.maximum(), log = std::log(row.sum(m));
    row.out[0] = row.loss(m, log);
  });
}
