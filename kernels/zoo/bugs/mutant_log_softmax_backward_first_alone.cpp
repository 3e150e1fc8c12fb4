// Bug: right for an upstream gradient with one item, as the loss of one label has it, and for no other.
#include "kernels/zoo/gradient_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_log_softmax_backward_first_alone(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, [](auto& row) {
    const auto total = row.upstream.empty() ? decltype(row.saved[0] + 0){} : row.upstream[0];
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.upstream[i] - std::exp(row.saved[i]) * total;
  });
}
