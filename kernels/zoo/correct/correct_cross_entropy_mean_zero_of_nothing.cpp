// Correct under masked=zero: a mean over no rows is 0.
#include "kernels/zoo/mean_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_cross_entropy_mean_zero_of_nothing(const softcheck_call* asked) {
  return each_mean_call(asked, SOFTCHECK_OP_CROSS_ENTROPY_MEAN, [](auto& call) {
    return call.counts_none() ? call.upstream * 0 : call.sum_of_losses() / call.divisor();
  });
}
