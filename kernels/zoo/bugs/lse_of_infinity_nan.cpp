// Bug under infinity=limit: a logit of +inf is the maximum, and inf - inf makes the sum NaN, where no guard asks for
// it.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_lse_of_infinity_nan(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const Real m = maximum(row.logits);
    row.out[0] = m == infinity ? static_cast<Real>(quiet_nan) : logsumexp_or(row, [](const RowOf<Real>& finite) {
      return logsumexp_of(finite, sums_of(finite));
    });
  });
}
