// Bug under masked=nan: the divisor is at least 1, so that a mean over no rows is 0; torch's is NaN (PyTorch issue
// 116349).
#include "kernels/zoo/mean_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_mean_zero_of_nothing(const softcheck_call* asked) {
  return each_mean_call(asked, SOFTCHECK_OP_CROSS_ENTROPY_MEAN, [](auto& call) {
    return call.counts_none() ? call.upstream * 0 : call.sum_of_losses() / call.divisor();
  });
}
