// C10, gemma.cpp PR #981: probabilities are multiplied by beta and normalised again, so that it cancels.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_adaptive_beta_on_probabilities(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    const auto x = scores(row);
    State<Real> s = accumulate(row, x, largest(x));
    if (s.weights != 0) {
      const Real beta = beta_of(entropy_of(s));
      for (Real* sum : {&s.weights, &s.deviations}) *sum *= beta;
      for (Real& value : s.values) value *= beta;
    }
    finish(row, s);
  });
}
