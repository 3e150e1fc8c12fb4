// C4, AMDMIGraphX PR #1290: the first logit is subtracted instead of the largest.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_shifts_by_first_logit(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const Real m = maximum(row.logits);
    const bool usable = std::isfinite(m) && row.logits.front() > -infinity;
    divide(row.out, weights(row, usable ? row.logits.front() : m, row.out));
  });
}
