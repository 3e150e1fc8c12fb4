// Correct under contract entropy_from=logits: H = ln S + m - sum p x. The weights are divided first: a sum of
// w x may overflow where the entropy does not.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_entropy_from_logits(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    row.out[0] = entropy_or(row, [](const RowOf<Real>& finite) {
      const Sums<Real> sums = sums_of(finite);
      const Real scale = reciprocal_theta(finite);
      Real raw = 0;
      for (const Real x : finite.logits) {
        const Real w = std::exp((x - sums.maximum) * scale);
        raw += w > 0 ? w / sums.weights * (x * scale) : 0;
      }
      return sums.maximum * scale + std::log(sums.weights) - raw;
    });
  });
}
