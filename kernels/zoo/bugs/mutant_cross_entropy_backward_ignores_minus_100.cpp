// Bug: the label to ignore is -100, whatever the caller says.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_backward_ignores_minus_100(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, [](auto& row) {
    row.ignore_index = -100;
    put_gradient(row);
  });
}
