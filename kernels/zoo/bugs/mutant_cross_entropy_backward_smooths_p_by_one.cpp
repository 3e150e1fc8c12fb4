// Bug: under label smoothing p has the target's weight alone, the mean of the weights is left out.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_backward_smooths_p_by_one(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, [](auto& row) {
    if (row.ignored()) return;
    row.mean_of_weights = row.target_weight();
    put_gradient(row);
  });
}
