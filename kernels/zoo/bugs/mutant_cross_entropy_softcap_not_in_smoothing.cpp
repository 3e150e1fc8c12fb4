// Bug: the mean of label smoothing is that of the logits before the softcap.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_softcap_not_in_smoothing(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.ignored()) return;
    const auto m = row.maximum(), log = std::log(row.sum(m));
    const auto hard = row.target();
    if (row.smoothing != 0) row.logits = row.raw;
    row.logits[static_cast<std::size_t>(row.label)] = hard;
    row.out[0] = row.loss(m, log);
  });
}
