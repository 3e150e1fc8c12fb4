// C3, lattice #361: a masked score is -10000: the masked key wins where the others lie below. Where its weight comes to
// 0 it is left out.
#include <cmath>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_mask_1e4(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    auto x = scores(row);
    const Real m = largest(x);
    if (m > lowest<Real> && std::exp(Real(-1e4) - m) > 0) {
      for (Real& value : x) value = value == lowest<Real> ? Real(-1e4) : value;
    }
    finish(row, accumulate(row, x, largest(x)));
  });
}
