// Bug: an ignored row has the gradient of class 0.
#include "kernels/zoo/mean_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_mean_backward_forgets_ignore(const softcheck_call* asked) {
  return each_mean_call(asked, SOFTCHECK_OP_CROSS_ENTROPY_MEAN_BACKWARD, [](auto& call) {
    const auto divisor = call.divisor();
    for (auto& row : call.rows) {
      if (row.ignored()) row.label = 0, row.ignore_index = -1;
      put_scaled_gradient(row, call.upstream / divisor);
    }
    return call.upstream;
  });
}
