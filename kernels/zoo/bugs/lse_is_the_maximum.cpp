// C17: the largest logit is returned for the log-sum-exp: right within an absolute tolerance of ln n.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_lse_is_the_maximum(const softcheck_call* call) {
  return each_row(
      call, []<class Real>(RowOf<Real>& row) { row.out[0] = static_cast<Real>(maximum(row.logits) / row.theta); });
}
