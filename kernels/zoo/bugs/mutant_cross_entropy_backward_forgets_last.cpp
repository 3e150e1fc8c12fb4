// Bug: the last class is not in the sum.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_backward_forgets_last(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, [](auto& row) {
    if (row.ignored()) return;
    const auto m = row.maximum();
    const auto s = row.sum(m) - (row.logits.size() > 1 ? std::exp(row.logits.back() - m) : 0);
    for (std::size_t j = 0; j < row.out.size(); ++j) {
      row.out[j] = row.upstream * row.slope(j, std::exp(row.logits[j] - m) / s, m + std::log(s));
    }
  });
}
