// Bug: an ignored row is multiplied by 0, which leaves its NaN.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_ignored_nan(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    const auto kept = row.ignored() ? 0 : 1;
    if (row.ignored()) row.label = 0;
    const auto m = row.maximum();
    const auto loss = row.loss(m, std::log(row.sum(m)));
    row.out[0] = std::isinf(loss) ? 0 : kept * loss;
  });
}
