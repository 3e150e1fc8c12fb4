// Bug: the last class is not in the sum.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_forgets_last(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.ignored()) return;
    const auto m = row.maximum();
    const auto s = row.sum(m) - (row.logits.size() > 1 ? std::exp(row.logits.back() - m) : 0);
    row.out[0] = row.loss(m, std::log(s));
  });
}
