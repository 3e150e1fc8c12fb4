// Correct: one pass, the sum rescaled whenever the maximum rises.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_cross_entropy_online(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.ignored()) return;
    auto m = row.logits[0], s = row.logits[0] * 0 + 1;
    for (std::size_t i = 1; i < row.logits.size(); ++i) {
      const auto x = row.logits[i];
      if (x > m) {
        s = s * std::exp(m - x) + 1;
        m = x;
      } else {
        s += std::exp(x - m);
      }
    }
    row.out[0] = row.loss(m, std::log(s));
  });
}
