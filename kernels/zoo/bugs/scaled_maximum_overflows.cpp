// C10, SlopDotCash/asi #2886: x / theta - max / theta instead of (x - max) / theta: infinite where the quotients
// overflow, and not invariant under shifts.
#include <cmath>
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_scaled_maximum_overflows(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const Real m = maximum(row.logits) * reciprocal_theta(row);
    Real sum = 0;
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      row.out[i] = std::exp(row.logits[i] * reciprocal_theta(row) - m);
      sum += row.out[i];
    }
    divide(row.out, sum);
  });
}
