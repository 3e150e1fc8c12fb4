// C1, matrixStats #84: the log-sum-exp of two and more masked items is (-inf) - (-inf); of one it is right.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_lse_of_masked_row_nan(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const Real m = maximum(row.logits);
    if (row.logits.size() <= 1) {
      row.out[0] = static_cast<Real>(m / row.theta);
      return;
    }
    const Sums<Real> sums = sums_of(row);
    row.out[0] = std::isnan(m) ? m : logsumexp_of(row, sums);
  });
}
