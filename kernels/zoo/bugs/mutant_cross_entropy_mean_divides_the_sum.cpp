// Bug: a sum is divided like a mean.
#include "kernels/zoo/mean_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_mean_divides_the_sum(const softcheck_call* asked) {
  return each_mean_call(asked, SOFTCHECK_OP_CROSS_ENTROPY_MEAN, [](auto& call) {
    if (call.counts_none()) return call.sum_of_losses() / call.divisor();
    call.mean = true;
    return call.sum_of_losses() / call.divisor();
  });
}
