// Bug: the loss of an ignored row is multiplied by 0, so that a NaN in its logits reaches the mean.
#include "kernels/zoo/mean_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_mean_ignored_nan(const softcheck_call* asked) {
  return each_mean_call(asked, SOFTCHECK_OP_CROSS_ENTROPY_MEAN, [](auto& call) {
    auto sum = call.upstream * 0;
    for (auto row : call.rows) {
      const bool ignored = row.ignored();
      if (ignored) row.label = 0;
      sum += call.loss(row) * (ignored ? 0 : 1);
    }
    return sum / call.divisor();
  });
}
