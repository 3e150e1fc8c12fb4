// Bug: the smoothing's part of the loss counts ignored rows, as in PyTorch issue 73205.
#include "kernels/zoo/mean_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_mean_smooths_ignored_rows(const softcheck_call* asked) {
  return each_mean_call(asked, SOFTCHECK_OP_CROSS_ENTROPY_MEAN, [](auto& call) {
    auto sum = call.upstream * 0;
    for (const auto& row : call.rows) {
      if (!row.ignored()) {
        sum += call.loss(row);
      } else if (row.smoothing != 0) {
        const auto m = row.maximum();
        sum += row.smoothing * row.mean_negative_log(m, std::log(row.sum(m)));
      }
    }
    return sum / call.divisor();
  });
}
