// Bug: an ignored row has the gradient of the first class, as in FlagGems issue 73.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_backward_forgets_ignore(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, [](auto& row) {
    if (row.ignored()) {
      row.label = 0;
      row.ignore_index = -1;
    }
    put_gradient(row);
  });
}
