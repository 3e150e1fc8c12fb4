// Bug: upstream is not divided by the number of rows.
#include "kernels/zoo/mean_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_mean_backward_not_divided(const softcheck_call* asked) {
  return each_mean_call(asked, SOFTCHECK_OP_CROSS_ENTROPY_MEAN_BACKWARD, [](auto& call) {
    for (auto& row : call.rows) put_scaled_gradient(row, call.upstream);
    return call.upstream;
  });
}
