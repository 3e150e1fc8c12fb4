// Bug: the slope of the softcap is left out at the target.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_backward_softcap_not_at_the_target(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, [](auto& row) {
    put_gradient(row);
    if (row.ignored()) return;
    const auto y = static_cast<std::size_t>(row.label);
    const auto m = row.maximum(), s = row.sum(m);
    row.out[y] = row.upstream * row.capped_slope(y, std::exp(row.logits[y] - m) / s, m + std::log(s));
  });
}
