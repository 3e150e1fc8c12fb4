// C13, FlashAttention PR #2359: entropy as lse - sum w x / S, where the scores' size cancels.
#include <cmath>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_entropy_uncentred(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    attend_two_pass(row);
    const auto x = scores(row);
    const Real m = largest(x);
    Real sum = 0, weighted = 0;
    for (const Real value : x) {
      if (value == lowest<Real>) continue;
      sum += std::exp(value - m);
      weighted += std::exp(value - m) * value;
    }
    if (sum != 0) row.entropy = row.lse - weighted / sum;
  });
}
