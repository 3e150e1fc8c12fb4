// attention-gym 86: the slope times the distance is added.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_alibi_sign(const softcheck_call* call) {
  return attend_attributed(
      call,
      []<class Real>(AttributedRow<Real>& row) {
        row.slope = -row.slope;
        finish_attributed(row, scores_by(row, usual_score));
      },
      [](AttributedCall&) {});
}
