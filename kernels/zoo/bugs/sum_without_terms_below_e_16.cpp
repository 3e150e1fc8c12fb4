// C12: the sum leaves out terms below e^-16, which 1 + w = 1 in f32 makes look harmless.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_sum_without_terms_below_e_16(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const Real m = maximum(row.logits);
    weights(row, m, row.out);
    Real sum = 0;
    for (const Real w : row.out) {
      sum += w < static_cast<Real>(1.125e-7) ? 0 : w;
    }
    divide(row.out, sum);
  });
}
