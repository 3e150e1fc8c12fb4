// Correct adaptive attention as the paper's code has it: H = -sum p ln(p + 1e-9), the logarithm in double.
#include <cmath>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT attention_correct_adaptive_paper(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    const auto x = scores(row);
    const Real m = largest(x);
    const State<Real> s = accumulate(row, x, m);
    Real entropy = 0;
    for (const Real value : x) {
      const Real p = std::exp(value - m) / s.weights;
      entropy -= p * static_cast<Real>(std::log(static_cast<double>(p) + 1e-9));
    }
    const Real beta = beta_of(entropy);
    finish(row, accumulate(row, x, m, beta), beta);
  });
}
