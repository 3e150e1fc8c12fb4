// Correct: g - e^y sum g.
#include "kernels/zoo/gradient_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_log_softmax_backward(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, [](auto& row) {
    const auto total = total_of(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.upstream[i] - std::exp(row.saved[i]) * total;
  });
}
