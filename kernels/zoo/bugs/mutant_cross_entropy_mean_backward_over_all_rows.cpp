// Bug: upstream is divided by the number of rows, ignored ones too (TransformerEngine pull request 2476, in the
// gradient).
#include "kernels/zoo/mean_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_mean_backward_over_all_rows(const softcheck_call* asked) {
  return each_mean_call(asked, SOFTCHECK_OP_CROSS_ENTROPY_MEAN_BACKWARD, [](auto& call) {
    using Real = decltype(call.upstream);
    const bool weighted = !call.rows.empty() && !call.rows.front().weights.empty();
    const Real divisor = call.mean && !weighted ? static_cast<Real>(call.rows.size()) : call.divisor();
    for (auto& row : call.rows) put_scaled_gradient(row, call.upstream / divisor);
    return call.upstream;
  });
}
