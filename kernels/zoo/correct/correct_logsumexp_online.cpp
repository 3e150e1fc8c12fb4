// Correct: one pass, the sum rescaled where the maximum rises.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_logsumexp_online(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const Real scale = reciprocal_theta(row);
    row.out[0] = logsumexp_or(row, [scale](const RowOf<Real>& finite) {
      Sums<Real> sums{-infinity, 0, 0};
      for (const Real x : finite.logits) {
        if (x > sums.maximum) {
          sums.weights = sums.weights * std::exp((sums.maximum - x) * scale) + 1;
          sums.maximum = x;
        } else if (x > -infinity) {
          sums.weights += std::exp((x - sums.maximum) * scale);
        }
      }
      return static_cast<Real>(sums.maximum / finite.theta + std::log(static_cast<double>(sums.weights)));
    });
  });
}
