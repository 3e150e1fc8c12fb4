// Bug: label smoothing lowers the target, and nothing is taken from the other classes.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_backward_smooths_target_alone(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, [](auto& row) {
    if (row.ignored()) return;
    put_gradient(row);
    for (std::size_t j = 0; j < row.out.size(); ++j) {
      if (static_cast<std::int64_t>(j) != row.label)
        row.out[j] += row.upstream * row.cap_slope(j) * row.weight(j) * row.smoothing / row.classes();
    }
  });
}
