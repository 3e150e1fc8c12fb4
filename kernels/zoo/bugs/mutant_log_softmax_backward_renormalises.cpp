// Bug: e^y divided by its sum, as if a saved output that is off by a constant were to be mended.
#include "kernels/zoo/gradient_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_log_softmax_backward_renormalises(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, [](auto& row) {
    const auto total = total_of(row);
    auto sum = decltype(row.saved[0] + 0){};
    for (const auto y : row.saved) sum += std::exp(y);
    for (std::size_t i = 0; i < row.out.size(); ++i)
      row.out[i] = row.upstream[i] - std::exp(row.saved[i]) / sum * total;
  });
}
