// C4, tt-metal #9978, uTensor #175: ln sum exp(x) without a shift.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_lse_unshifted(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    row.out[0] = logsumexp_or(row, [](const RowOf<Real>& finite) {
      Real sum = 0;
      for (const Real x : finite.logits) {
        sum += std::exp(x * reciprocal_theta(finite));
      }
      return std::log(sum);
    });
  });
}
