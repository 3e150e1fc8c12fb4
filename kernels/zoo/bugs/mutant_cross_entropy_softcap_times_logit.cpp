// Bug: logit tanh(logit / softcap), as FlashAttention 2396 had it for scores.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_softcap_times_logit(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    for (std::size_t j = 0; row.cap != 0 && j < row.raw.size(); ++j) {
      row.logits[j] = row.raw[j] * std::tanh(row.raw[j] / row.cap);
    }
    if (row.ignored()) return;
    const auto m = row.maximum(), log = std::log(row.sum(m));
    row.out[0] = row.loss(m, log);
  });
}
