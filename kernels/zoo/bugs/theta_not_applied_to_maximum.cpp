// C10, the class of metal-flash-attention #8: the logits are divided by theta, the maximum is not.
#include <cmath>
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_theta_not_applied_to_maximum(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const Real m = maximum(row.logits);
    Real sum = 0;
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      row.out[i] = std::exp(row.logits[i] * reciprocal_theta(row) - m);
      sum += row.out[i];
    }
    divide(row.out, sum);
  });
}
