// Bug: label smoothing is not looked at, as in Liger-Kernel issue 243.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_backward_drops_smoothing(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, [](auto& row) {
    row.smoothing = 0;
    put_gradient(row);
  });
}
