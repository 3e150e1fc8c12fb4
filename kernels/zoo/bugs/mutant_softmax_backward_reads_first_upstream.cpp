// Bug: the upstream gradient of the first row for every row, as a stride of 0 gives it.
#include "kernels/zoo/gradient_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_softmax_backward_reads_first_upstream(const softcheck_call* call) {
  const auto gradient = [](auto& row) {
    const auto mean = mean_of(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.saved[i] * (row.upstream[i] - mean);
  };
  return each_gradient_row(call, SOFTCHECK_OP_SOFTMAX_BACKWARD, gradient, UpstreamRow::first);
}
