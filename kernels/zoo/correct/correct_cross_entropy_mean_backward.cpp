// Correct: upstream over the divisor is the factor of each row.
#include "kernels/zoo/mean_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_cross_entropy_mean_backward(const softcheck_call* asked) {
  return each_mean_call(asked, SOFTCHECK_OP_CROSS_ENTROPY_MEAN_BACKWARD, [](auto& call) {
    const auto factor = call.counts_none() ? call.upstream : call.upstream / call.divisor();
    for (auto& row : call.rows) put_scaled_gradient(row, factor);
    return call.upstream;
  });
}
