// C10: beta is 1 above an entropy of 0.5 and max(P(H), 1) below, where P(H) < 1: it never adapts.
#include <algorithm>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_adaptive_guard_inverted(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    attend_adaptive(
        row, [](Real entropy) { return entropy > Real(0.5) ? Real(1) : std::max(beta_polynomial(entropy), Real(1)); });
  });
}
