// Bug: -ln p: a coefficient that rounds to 0 gives an infinite loss.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_of_probability(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.ignored()) return;
    const auto m = row.maximum(), log = std::log(row.sum(m));
    const auto p = std::exp(row.target() - m - log);
    const auto lse = m + log;
    row.out[0] = (1 - row.smoothing) * row.target_weight() * -std::log(p) +
                 row.smoothing * row.mean_negative_log(m, log) + row.z * lse * lse;
  });
}
