// C12 for beta: 0.418 for 0.481, two digits swapped.
#include <algorithm>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_adaptive_coefficient_digit(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    attend_adaptive(row, [](Real entropy) {
      const Real value = polynomial(entropy, {-0.037, 0.418, -2.3, 4.917, -1.791});
      return entropy > Real(0.5) ? std::max(value, Real(1)) : Real(1);
    });
  });
}
