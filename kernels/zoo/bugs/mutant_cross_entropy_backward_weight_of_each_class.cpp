// Bug: each class's gradient has that class's weight, not the target's.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_backward_weight_of_each_class(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, [](auto& row) {
    if (row.ignored()) return;
    const auto weights = row.weights;
    if (row.smoothing == 0 && row.z == 0) row.weights.clear();
    put_gradient(row);
    for (std::size_t j = 0; row.weights.size() != weights.size() && j < row.out.size(); ++j) row.out[j] *= weights[j];
  });
}
