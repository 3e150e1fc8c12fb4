// C10: P(H) without max(P, 1): scores are flattened where the paper leaves them alone.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_adaptive_without_maximum_one(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    attend_adaptive(row, [](Real entropy) { return entropy > Real(0.5) ? beta_polynomial(entropy) : Real(1); });
  });
}
