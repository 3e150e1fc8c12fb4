// Bug: the mean of g where its sum is due.
#include "kernels/zoo/gradient_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_log_softmax_backward_means(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, [](auto& row) {
    const auto total = total_of(row) / static_cast<decltype(row.saved[0] + 0)>(row.out.size());
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.upstream[i] - std::exp(row.saved[i]) * total;
  });
}
