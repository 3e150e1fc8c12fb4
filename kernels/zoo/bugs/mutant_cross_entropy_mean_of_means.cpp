// Bug: the mean of the means of micro-batches of two rows, which are not of the same number of tokens.
#include "kernels/zoo/mean_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_mean_of_means(const softcheck_call* asked) {
  return each_mean_call(asked, SOFTCHECK_OP_CROSS_ENTROPY_MEAN, [](auto& call) {
    using Real = decltype(call.upstream);
    if (!call.mean || call.rows.size() < 3) return call.sum_of_losses() / call.divisor();
    Real sum = 0, batches = 0;
    for (std::size_t r = 0; r < call.rows.size(); r += 2) {
      Real losses = 0, share = 0;
      for (std::size_t k = r; k < call.rows.size() && k < r + 2; ++k) {
        if (!call.rows[k].ignored()) losses += call.loss(call.rows[k]);
        share += call.share(call.rows[k]);
      }
      if (share > 0) sum += losses / share;
      if (share > 0) batches += 1;
    }
    return sum / batches;
  });
}
