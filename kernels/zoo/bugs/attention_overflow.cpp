// Bugs of attention: overflow.
#include <algorithm>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

// C4, the class of tt-metal #12661: scores are clamped to where exp does not overflow.
// @judged attention f32: exp=1ulp sum=sequential masked=nan entropy=exact; fail C4; EveryValueLiesWithinItsThreshold;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy
SOFTCHECK_MUTANT mutant_attention_clamps_scores(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    auto x = scores(row);
    for (Real& value : x) {
      if (value > lowest<Real>) value = std::clamp(value, Real(-80), Real(80));
    }
    finish(row, accumulate(row, x, largest(x)));
  });
}

// C4, NNlib #506: no maximum is subtracted.
// @judged attention f64 f32: exp=1ulp sum=sequential masked=nan entropy=exact; fail C4;
// EveryValueLiesWithinItsThreshold; kernel.attention.output|kernel.attention.lse|kernel.attention.entropy
SOFTCHECK_MUTANT mutant_attention_no_max_shift(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) { finish(row, accumulate(row, scores(row), Real(0))); });
}
