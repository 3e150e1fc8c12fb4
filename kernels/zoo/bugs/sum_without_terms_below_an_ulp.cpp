// C12: the sum of an f64 row leaves out terms below 1.45e-16, which are more than half a unit of the last place of 1.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_sum_without_terms_below_an_ulp(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const Real m = maximum(row.logits);
    weights(row, m, row.out);
    Real sum = 0;
    for (const Real w : row.out) {
      sum += w < static_cast<Real>(1.45e-16) ? 0 : w;
    }
    divide(row.out, sum);
  });
}
