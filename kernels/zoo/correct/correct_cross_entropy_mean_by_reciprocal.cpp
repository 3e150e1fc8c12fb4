// Correct: each loss times the reciprocal of the divisor, then the sum.
#include "kernels/zoo/mean_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_cross_entropy_mean_by_reciprocal(const softcheck_call* asked) {
  return each_mean_call(asked, SOFTCHECK_OP_CROSS_ENTROPY_MEAN, [](auto& call) {
    const auto share = 1 / call.divisor();
    auto sum = share * 0;
    for (const auto& row : call.rows) {
      if (!row.ignored()) sum += call.loss(row) * share;
    }
    return call.counts_none() ? call.sum_of_losses() / call.divisor() : sum;
  });
}
