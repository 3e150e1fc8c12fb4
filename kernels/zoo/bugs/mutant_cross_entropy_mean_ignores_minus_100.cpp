// Bug: rows of label -100 are ignored whatever ignore_index says, and no others (FlagGems issue 73 is the other way
// round).
#include "kernels/zoo/mean_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_mean_ignores_minus_100(const softcheck_call* asked) {
  return each_mean_call(asked, SOFTCHECK_OP_CROSS_ENTROPY_MEAN, [](auto& call) {
    for (auto& row : call.rows) row.ignore_index = -100;
    return call.sum_of_losses() / call.divisor();
  });
}
