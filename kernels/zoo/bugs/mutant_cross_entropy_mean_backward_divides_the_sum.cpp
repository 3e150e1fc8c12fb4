// Bug: the gradient of a sum is divided like that of a mean.
#include "kernels/zoo/mean_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_mean_backward_divides_the_sum(const softcheck_call* asked) {
  return each_mean_call(asked, SOFTCHECK_OP_CROSS_ENTROPY_MEAN_BACKWARD, [](auto& call) {
    call.mean = true;
    const auto factor = call.counts_none() ? call.upstream : call.upstream / call.divisor();
    for (auto& row : call.rows) put_scaled_gradient(row, factor);
    return call.upstream;
  });
}
