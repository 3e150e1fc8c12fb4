// Bug: divided by the number of rows, ignored ones too, as in TransformerEngine pull request 2476.
#include "kernels/zoo/mean_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_mean_over_all_rows(const softcheck_call* asked) {
  return each_mean_call(asked, SOFTCHECK_OP_CROSS_ENTROPY_MEAN, [](auto& call) {
    const bool plain = call.mean && !call.counts_none() && call.rows.front().weights.empty();
    if (!plain) return call.sum_of_losses() / call.divisor();
    return call.sum_of_losses() / static_cast<decltype(call.upstream)>(call.rows.size());
  });
}
