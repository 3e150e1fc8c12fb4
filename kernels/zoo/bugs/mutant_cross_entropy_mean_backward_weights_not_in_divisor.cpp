// Bug: upstream is divided by the number of rows that count, not by the sum of their weights.
#include "kernels/zoo/mean_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_mean_backward_weights_not_in_divisor(const softcheck_call* asked) {
  return each_mean_call(asked, SOFTCHECK_OP_CROSS_ENTROPY_MEAN_BACKWARD, [](auto& call) {
    auto count = call.upstream * 0;
    for (const auto& row : call.rows) count += row.ignored() ? 0 : 1;
    for (auto& row : call.rows) put_scaled_gradient(row, call.mean ? call.upstream / count : call.upstream);
    return call.upstream;
  });
}
