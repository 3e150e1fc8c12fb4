// Bug: a class too far below the maximum for any coefficient, and smoothed, gets the upstream gradient on top.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_backward_smooths_unlikely(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, [](auto& row) {
    put_gradient(row);
    if (row.ignored() || row.smoothing == 0) return;
    const auto m = row.maximum();
    for (std::size_t j = 0; j < row.out.size(); ++j) {
      if (m - row.logits[j] > 1e30) row.out[j] += row.upstream;
    }
  });
}
