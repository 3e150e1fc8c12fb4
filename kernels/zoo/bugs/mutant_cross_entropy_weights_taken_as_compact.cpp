// Bug: class weights are read as if they stood side by side.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_weights_taken_as_compact(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [&](auto& row) {
    if (row.ignored()) return;
    if (!row.weights.empty()) {
      View weights(*call->inputs[2]);
      weights.row_stride = 1;
      const auto y = static_cast<std::int64_t>(row.label);
      row.weights[static_cast<std::size_t>(y)] = weights.get<decltype(row.z + 0)>(y, 0);
    }
    const auto m = row.maximum(), log = std::log(row.sum(m));
    row.out[0] = row.loss(m, log);
  });
}
