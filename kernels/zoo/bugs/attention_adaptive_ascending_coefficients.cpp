// C12 for beta: the coefficients in ascending order, as a public port feeds them to a function that wants the highest
// power first.
#include <algorithm>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_adaptive_ascending_coefficients(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    attend_adaptive(row, [](Real entropy) {
      const Real value = polynomial(entropy, {-1.791, 4.917, -2.3, 0.481, -0.037});
      return entropy > Real(0.5) ? std::max(value, Real(1)) : Real(1);
    });
  });
}
