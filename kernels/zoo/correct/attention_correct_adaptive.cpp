// Correct adaptive attention: scores kept, entropy ln S + T / S, then a second softmax of beta times them.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT attention_correct_adaptive(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) { attend_adaptive(row, beta_of<Real>); });
}
