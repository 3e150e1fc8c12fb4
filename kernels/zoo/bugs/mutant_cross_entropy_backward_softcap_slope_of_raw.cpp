// Bug: the slope 1 - (logit / softcap)^2 is that of the raw logit, where the capped one belongs.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_backward_softcap_slope_of_raw(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, [](auto& row) {
    if (row.ignored()) return;
    const auto m = row.maximum(), s = row.sum(m);
    for (std::size_t j = 0; j < row.out.size(); ++j) {
      const auto t = row.cap == 0 ? row.cap : std::clamp(row.raw[j] / row.cap, -1 + row.cap * 0, 1 + row.cap * 0);
      const auto behind = row.capped_slope(j, std::exp(row.logits[j] - m) / s, m + std::log(s));
      row.out[j] = row.upstream * behind * (1 - t * t);
    }
  });
}
