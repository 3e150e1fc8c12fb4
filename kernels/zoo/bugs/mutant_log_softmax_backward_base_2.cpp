// Bug: 2^y where e^y is due.
#include "kernels/zoo/gradient_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_log_softmax_backward_base_2(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, [](auto& row) {
    const auto total = total_of(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.upstream[i] - std::exp2(row.saved[i]) * total;
  });
}
