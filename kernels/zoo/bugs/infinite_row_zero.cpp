// C12: a row with a logit of +inf is answered with zeros, neither NaN nor the limit.
#include <algorithm>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_infinite_row_zero(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const bool infinite = maximum(row.logits) == infinity;
    softmax(row);
    if (infinite) {
      std::fill(row.out.begin(), row.out.end(), static_cast<Real>(0));
    }
  });
}
