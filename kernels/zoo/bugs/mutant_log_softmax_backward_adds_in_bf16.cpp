// Bug: the sum in the narrow format.
#include "kernels/zoo/gradient_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_log_softmax_backward_adds_in_bf16(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, [](auto& row) {
    const auto total = [&] {
      auto sum = decltype(row.saved[0] + 0){};
      for (const auto g : row.upstream) sum = stored_in_bf16(sum + g);
      return sum;
    }();
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.upstream[i] - std::exp(row.saved[i]) * total;
  });
}
