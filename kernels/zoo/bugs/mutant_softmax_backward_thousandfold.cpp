// Bug: the gradient is never divided by the loss scale.
#include "kernels/zoo/gradient_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_softmax_backward_thousandfold(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_SOFTMAX_BACKWARD, [](auto& row) {
    const auto mean = mean_of(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = 1000 * (row.saved[i] * (row.upstream[i] - mean));
  });
}
