// The bias is added before the scale.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_bias_scaled(const softcheck_call* call) {
  return attend_attributed(
      call,
      []<class Real>(AttributedRow<Real>& row) {
        for (Real& x : row.bias) x *= row.scale;
        finish_attributed(row, scores_by(row, usual_score));
      },
      [](AttributedCall&) {});
}
