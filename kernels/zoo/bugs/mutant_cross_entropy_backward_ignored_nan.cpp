// Bug: an ignored row is multiplied by 0, which leaves its NaN.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_backward_ignored_nan(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, [](auto& row) {
    const bool ignored = row.ignored();
    if (ignored) {
      row.label = 0;
      row.ignore_index = -1;
    }
    put_gradient(row);
    for (auto& dx : row.out) dx = ignored ? dx * 0 : dx;
  });
}
