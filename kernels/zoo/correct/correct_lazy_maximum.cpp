// Correct: the reference of the exponentials is replaced only where a logit lies more than 8 above it, so that weights
// grow up to exp(8). Not the maximum itself, the argument of exp is up to 8 larger than D, with 3 roundings:
// exp=E:26,A:1.
#include <cmath>
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_lazy_maximum(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const Real scale = reciprocal_theta(row);
    const Real m = maximum(row.logits);
    Real reference = -infinity;
    Real sum = 0;
    for (const Real x : row.logits) {
      if (!std::isfinite(m) || x == -infinity) {
        sum += std::isfinite(m) ? 0 : static_cast<Real>(quiet_nan);
        continue;
      }
      if (!((x - reference) * scale <= 8)) {
        sum *= std::exp((reference - x) * scale);
        reference = x;
      }
      sum += std::exp((x - reference) * scale);
    }
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      row.out[i] = std::exp((row.logits[i] - reference) * scale) / sum;
    }
  });
}
