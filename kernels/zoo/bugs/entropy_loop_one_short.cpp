// C5, the class of PyTorch #196678: the loop over T = sum w D ends one item early.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_entropy_loop_one_short(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    row.out[0] = entropy_or(row, [](const RowOf<Real>& finite) {
      Sums<Real> sums = sums_of(finite);
      const Real last = (sums.maximum - finite.logits.back()) * reciprocal_theta(finite);
      const Real w = std::exp(-last);
      sums.deviations -= w > 0 ? w * last : 0;
      return entropy_of(sums);
    });
  });
}
