// Bug: the formula of log-softmax, as MIOpen issue 112 had it.
#include "kernels/zoo/gradient_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_softmax_backward_by_log_formula(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_SOFTMAX_BACKWARD, [](auto& row) {
    const auto total = total_of(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.upstream[i] - std::exp(row.saved[i]) * total;
  });
}
