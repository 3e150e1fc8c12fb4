// C3: a masked item is scored by a finite number and wins, or shares, where the visible ones lie below it:
// TransformerLens #318 has -1e5, BERT -1e9, and -1e30 stands in many kernels of f32.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {

template <class Real>
void softmax_with_masked_items(RowOf<Real>& row, Real sentinel) {
  if (std::isfinite(maximum(row.logits))) {
    for (Real& x : row.logits) x = x == -infinity ? sentinel : x;
  }
  softmax(row);
}

}  // namespace

SOFTCHECK_MUTANT mutant_mask_value_minus_1e5(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) { softmax_with_masked_items(row, Real(-1e5)); });
}

SOFTCHECK_MUTANT mutant_softmax_mask_value_minus_1e9(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) { softmax_with_masked_items(row, Real(-1e9)); });
}

SOFTCHECK_MUTANT mutant_mask_value_minus_1e30(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) { softmax_with_masked_items(row, Real(-1e30)); });
}
