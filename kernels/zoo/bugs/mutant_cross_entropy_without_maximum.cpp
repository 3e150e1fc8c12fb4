// Bug: no maximum is subtracted: e^x overflows.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_without_maximum(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.ignored()) return;
    const auto zero = row.logits[0] * 0;
    row.out[0] = row.loss(zero, std::log(row.sum(zero)));
  });
}
