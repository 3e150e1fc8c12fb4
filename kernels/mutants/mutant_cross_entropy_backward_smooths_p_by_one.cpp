// Bug: under label smoothing p has the target's weight alone, the mean of the weights is left out.
#include "kernels/mutants/loss_rows.hpp"

using namespace softcheck::kernels::mutants;

SOFTCHECK_MUTANT mutant_cross_entropy_backward_smooths_p_by_one(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, [](auto& row) {
    if (row.ignored()) return;
    row.mean_of_weights = row.target_weight();
    put_gradient(row);
  });
}
