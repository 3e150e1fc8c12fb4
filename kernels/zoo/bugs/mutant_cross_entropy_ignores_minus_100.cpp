// Bug: the label to ignore is -100, whatever the caller says.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_ignores_minus_100(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.label == -100) return;
    const auto m = row.maximum();
    row.out[0] = row.loss(m, std::log(row.sum(m)));
  });
}
