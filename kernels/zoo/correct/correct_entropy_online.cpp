// Correct: S and T in one pass; where the maximum rises by d, T <- a (T + d S), a = exp(-d).
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_entropy_online(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const Real scale = reciprocal_theta(row);
    row.out[0] = entropy_or(row, [scale](const RowOf<Real>& finite) {
      Sums<Real> sums{-infinity, 0, 0};
      for (const Real x : finite.logits) {
        if (x == -infinity) {
          continue;
        }
        if (x > sums.maximum) {
          const Real d = sums.weights > 0 ? (x - sums.maximum) * scale : 0;
          const Real a = std::exp(-d);
          sums.deviations = a > 0 ? a * (sums.deviations + d * sums.weights) : 0;
          sums.weights = sums.weights * a;
          sums.maximum = x;
        }
        const Real deviation = (sums.maximum - x) * scale;
        const Real w = std::exp(-deviation);
        sums.weights += w;
        sums.deviations += w > 0 ? w * deviation : 0;
      }
      return entropy_of(sums);
    });
  });
}
