// Bug: the formula of softmax, on a saved log-softmax.
#include "kernels/zoo/gradient_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_log_softmax_backward_by_softmax_formula(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, [](auto& row) {
    const auto mean = mean_of(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.saved[i] * (row.upstream[i] - mean);
  });
}
