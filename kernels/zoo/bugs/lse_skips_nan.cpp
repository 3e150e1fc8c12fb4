// C12, torch-xpu-ops PR #5022: fmax drops a NaN, and what is not larger than -inf is left out of the sum.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_lse_skips_nan(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    for (Real& x : row.logits) {
      x = std::fmax(x, static_cast<Real>(-infinity));
    }
    row.out[0] = logsumexp_or(row, [](const RowOf<Real>& finite) { return logsumexp_of(finite, sums_of(finite)); });
  });
}
