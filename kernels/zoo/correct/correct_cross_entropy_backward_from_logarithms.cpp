// Correct: p as the exponential of the log-probability.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_cross_entropy_backward_from_logarithms(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, [](auto& row) {
    if (row.ignored()) return;
    const auto m = row.maximum(), log = std::log(row.sum(m));
    for (std::size_t j = 0; j < row.out.size(); ++j) {
      row.out[j] = row.upstream * row.slope(j, std::exp((row.logits[j] - m) - log), m + log);
    }
  });
}
