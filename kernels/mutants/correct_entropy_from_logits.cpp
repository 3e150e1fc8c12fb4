// Correct under contract entropy_from=logits: H = ln S + m - sum p x, as a kernel that keeps sum w x has it.
#include <cmath>

#include "kernels/mutants/reference_rows.hpp"

using namespace softcheck::kernels::mutants;

SOFTCHECK_MUTANT correct_entropy_from_logits(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    row.out[0] = entropy_or(row, [](const RowOf<Real>& finite) {
      const Sums<Real> sums = sums_of(finite);
      const Real scale = reciprocal_theta(finite);
      Real raw = 0;
      for (const Real x : finite.logits) {
        const Real w = std::exp((x - sums.maximum) * scale);
        raw += w > 0 ? w * (x * scale) : 0;
      }
      return sums.maximum * scale + std::log(sums.weights) - raw / sums.weights;
    });
  });
}
