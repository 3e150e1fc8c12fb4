// Correct: the sum from the last item to the first.
#include "kernels/zoo/gradient_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_log_softmax_backward_reversed(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, [](auto& row) {
    const auto total = [&] {
      auto sum = decltype(row.saved[0] + 0){};
      for (std::size_t i = row.upstream.size(); i-- > 0;) sum += row.upstream[i];
      return sum;
    }();
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.upstream[i] - std::exp(row.saved[i]) * total;
  });
}
