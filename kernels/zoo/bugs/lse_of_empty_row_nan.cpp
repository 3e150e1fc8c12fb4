// C14, bayesfam #33: the log-sum-exp of nothing is (-inf) - (-inf) instead of -inf.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_lse_of_empty_row_nan(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    if (row.logits.empty()) {
      row.out[0] = quiet_nan;
      return;
    }
    row.out[0] = logsumexp_or(row, [](const RowOf<Real>& finite) { return logsumexp_of(finite, sums_of(finite)); });
  });
}
