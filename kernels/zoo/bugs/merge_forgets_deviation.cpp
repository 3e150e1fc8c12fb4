// C2: parts (m, S, T) are merged by T <- a T where a (T + d S) is due.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_merge_forgets_deviation(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    row.out[0] = entropy_or(row, [](const RowOf<Real>& finite) {
      Sums<Real> all{maximum(finite.logits), 0, 0};
      for (const Sums<Real>& part : parts_of(finite)) {
        const Real a = std::exp((part.maximum - all.maximum) * reciprocal_theta(finite));
        all.weights += a * part.weights;
        all.deviations += a * part.deviations;
      }
      return entropy_of(all);
    });
  });
}
