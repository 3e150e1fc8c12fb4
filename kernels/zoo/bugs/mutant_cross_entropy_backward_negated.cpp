// Bug: the gradient with the other sign.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_backward_negated(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, [](auto& row) {
    row.upstream = -row.upstream;
    put_gradient(row);
  });
}
