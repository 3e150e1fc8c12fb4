// Correct: the losses one after the other, divided by the count or the weights' sum.
#include "kernels/zoo/mean_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_cross_entropy_mean(const softcheck_call* asked) {
  return each_mean_call(asked, SOFTCHECK_OP_CROSS_ENTROPY_MEAN,
                        [](auto& call) { return call.sum_of_losses() / call.divisor(); });
}
