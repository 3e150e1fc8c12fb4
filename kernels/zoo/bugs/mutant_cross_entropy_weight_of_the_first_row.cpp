// Bug: every row has the weight of the first row's label (the same slip as Liger-Kernel 968's first upstream gradient).
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_weight_of_the_first_row(const softcheck_call* call) {
  double first = -1;
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [&](auto& row) {
    if (row.ignored()) return;
    const auto y = static_cast<std::size_t>(row.label);
    if (first < 0) first = static_cast<double>(row.weight(y));
    if (!row.weights.empty() && row.smoothing == 0) row.weights[y] = static_cast<decltype(row.z)>(first);
    const auto m = row.maximum(), log = std::log(row.sum(m));
    row.out[0] = row.loss(m, log);
  });
}
