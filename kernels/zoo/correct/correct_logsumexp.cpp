// Correct: m / theta + ln S.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_logsumexp(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    row.out[0] = logsumexp_or(row, [](const RowOf<Real>& finite) {
      const Sums<Real> sums = sums_of(finite);
      // In double: where ln S cancels m / theta, a rounded quotient would be all that is left.
      return static_cast<Real>(sums.maximum / finite.theta + std::log(static_cast<double>(sums.weights)));
    });
  });
}
