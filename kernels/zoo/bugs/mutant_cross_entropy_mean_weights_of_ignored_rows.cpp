// Bug: the weight of class 0 stands in the divisor for each ignored row, whose label was clamped to it.
#include "kernels/zoo/mean_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_mean_weights_of_ignored_rows(const softcheck_call* asked) {
  return each_mean_call(asked, SOFTCHECK_OP_CROSS_ENTROPY_MEAN, [](auto& call) {
    auto divisor = call.divisor();
    if (call.mean && divisor > 0) {
      for (const auto& row : call.rows) divisor += row.ignored() && !row.weights.empty() ? row.weights[0] : 0;
    }
    return call.sum_of_losses() / divisor;
  });
}
