// C12: an exponential that underflows comes out as the smallest negative number, as a polynomial without a clamp leaves
// it: far below every threshold's floor, and no probability.
#include <limits>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_coefficient_below_zero(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    softmax(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      if (row.out[i] == 0 && row.logits[i] > -infinity) row.out[i] = -std::numeric_limits<Real>::denorm_min();
    }
  });
}

SOFTCHECK_MUTANT mutant_adaptive_coefficient_below_zero(const softcheck_call* call) {
  return call->theta != 1 ? 1 : each_row(call, []<class Real>(RowOf<Real>& row) {
    adaptive_softmax(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      if (row.out[i] == 0 && row.logits[i] > -infinity) row.out[i] = -std::numeric_limits<Real>::denorm_min();
    }
  });
}
