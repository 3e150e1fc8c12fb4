// Correct: tanh from expm1.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_cross_entropy_softcap_by_exponentials(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    for (auto& x : row.logits) x = 0;
    for (std::size_t j = 0; j < row.raw.size(); ++j) {
      if (row.cap == 0) {
        row.logits[j] = row.raw[j];
        continue;
      }
      const auto e = std::expm1(-2 * std::fabs(row.raw[j] / row.cap));
      row.logits[j] = row.cap * std::copysign(-e / (2 + e), row.raw[j]);
    }
    if (row.ignored()) return;
    const auto m = row.maximum(), log = std::log(row.sum(m));
    row.out[0] = row.loss(m, log);
  });
}
