// C3, the class of NNlib #43: in log-softmax a masked item is scored -1e9 instead of -inf, and gets a finite
// log-probability.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_mask_value_minus_1e9(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const Real m = maximum(row.logits);
    for (Real& x : row.logits) {
      x = x == -infinity && std::isfinite(m) ? -1e9f : x;
    }
    log_softmax(row);
  });
}
