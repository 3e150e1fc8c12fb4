// Bug: a class too far below the maximum for any coefficient gets the upstream gradient in place of 0.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_backward_keeps_unlikely(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, [](auto& row) {
    put_gradient(row);
    if (row.ignored()) return;
    const auto m = row.maximum();
    for (std::size_t j = 0; j < row.out.size(); ++j) {
      if (m - row.logits[j] > 1e12) row.out[j] += row.upstream;
    }
  });
}
