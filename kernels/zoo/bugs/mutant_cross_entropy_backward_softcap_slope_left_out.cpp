// Bug: the gradient is that by the capped logits.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_backward_softcap_slope_left_out(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, [](auto& row) {
    if (row.ignored()) return;
    const auto m = row.maximum(), s = row.sum(m);
    for (std::size_t j = 0; j < row.out.size(); ++j) {
      row.out[j] = row.upstream * row.capped_slope(j, std::exp(row.logits[j] - m) / s, m + std::log(s));
    }
  });
}
