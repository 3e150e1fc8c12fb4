// Bug: where all rows are ignored, 0 is divided by 0.
#include "kernels/zoo/mean_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_mean_backward_nan_of_nothing(const softcheck_call* asked) {
  return each_mean_call(asked, SOFTCHECK_OP_CROSS_ENTROPY_MEAN_BACKWARD, [](auto& call) {
    const auto divisor = call.divisor();
    for (auto& row : call.rows) {
      put_scaled_gradient(row, call.upstream);
      for (auto& value : row.out) value /= divisor;
    }
    return call.upstream;
  });
}
