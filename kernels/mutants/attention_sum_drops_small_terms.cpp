// C11: a term below the resolution of the sum so far is left out, of the values too.
#include <cmath>

#include "kernels/mutants/attention_states.hpp"

using namespace softcheck::kernels::mutants::attention;

SOFTCHECK_MUTANT mutant_attention_sum_drops_small_terms(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    auto x = scores(row);
    const Real m = largest(x);
    Real sum = 0;
    for (Real& value : x) {
      const Real w = std::exp(value - m);
      if (sum + w == sum) value = lowest<Real>;
      sum += w;
    }
    finish(row, accumulate(row, x, m));
  });
}
