// FlashAttention 2752: the maximum is that of the keys alone, so that a sink of 100 overflows.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_sink_without_maximum(const softcheck_call* call) {
  return attend_attributed(
      call,
      []<class Real>(AttributedRow<Real>& row) {
        const std::vector<Real> x = scores_by(row, usual_score);
        const Real m = largest(x);
        if (m == lowest<Real>) return finish_attributed(row, x);
        State<Real> s = accumulate<Real>(row, x, m);
        if (row.sink) s.weights += std::exp(*row.sink - m);
        finish<Real>(row, s);
      },
      [](AttributedCall&) {});
}
