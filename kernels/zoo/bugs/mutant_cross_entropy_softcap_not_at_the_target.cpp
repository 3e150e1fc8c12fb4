// Bug: the target's logit is read again, and not capped.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_softcap_not_at_the_target(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.ignored()) return;
    const auto m = row.maximum(), log = std::log(row.sum(m));
    row.logits[static_cast<std::size_t>(row.label)] = row.raw[static_cast<std::size_t>(row.label)];
    row.out[0] = row.loss(m, log);
  });
}
