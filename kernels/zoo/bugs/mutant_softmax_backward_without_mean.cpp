// Bug: the derivative of each item by itself, y (1 - y) g: the diagonal of the Jacobian alone.
#include "kernels/zoo/gradient_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_softmax_backward_without_mean(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_SOFTMAX_BACKWARD, [](auto& row) {
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.saved[i] * (1 - row.saved[i]) * row.upstream[i];
  });
}
