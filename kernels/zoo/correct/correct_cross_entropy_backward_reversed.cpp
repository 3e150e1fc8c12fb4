// Correct: the classes from the last to the first.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_cross_entropy_backward_reversed(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, [](auto& row) {
    if (row.ignored()) return;
    const auto m = row.maximum();
    auto s = decltype(m + 0){};
    for (std::size_t j = row.logits.size(); j-- > 0;) s += std::exp(row.logits[j] - m);
    for (std::size_t j = row.out.size(); j-- > 0;) {
      row.out[j] = row.upstream * row.slope(j, std::exp(row.logits[j] - m) / s, m + std::log(s));
    }
  });
}
