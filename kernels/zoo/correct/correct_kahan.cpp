// Correct: compensated summation.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_kahan(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    weights(row, maximum(row.logits), row.out);
    Real sum = 0;
    Real lost = 0;
    for (const Real w : row.out) {
      const Real term = w - lost;
      const Real next = sum + term;
      lost = (next - sum) - term;
      sum = next;
    }
    divide(row.out, sum);
  });
}
