// The log-sum-exp is that of the keys alone.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_sink_missing_in_lse(const softcheck_call* call) {
  return attend_attributed(
      call,
      []<class Real>(AttributedRow<Real>& row) {
        const std::vector<Real> x = scores_by(row, usual_score);
        finish_attributed(row, x);
        AttributedRow<Real> keys = row;
        keys.sink.reset();
        finish_attributed(keys, x);
        row.lse = keys.lse;
      },
      [](AttributedCall&) {});
}
