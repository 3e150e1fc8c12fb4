// Correct: a multiplication by 1/S instead of a division by S.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_reciprocal(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const Real reciprocal = 1 / weights(row, maximum(row.logits), row.out);
    for (Real& p : row.out) {
      p *= reciprocal;
    }
  });
}
