// Bugs of attention: overflow.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

// C4, the class of tt-metal #12661: scores are clamped to where exp does not overflow.
// @judged attention f32: plain entropy=exact; fail C4
BUG(mutant_attention_clamps_scores, attend_changed_scores) {
  for (Real& value : x) {
    if (value > lowest<Real>) value = std::clamp(value, Real(-80), Real(80));
  }
}

// C4, NNlib #506: no maximum is subtracted.
// @judged attention f64 f32: plain entropy=exact; fail C4
BUG(mutant_attention_no_max_shift, attend) { finish(row, accumulate(row, scores(row), Real(0))); }
