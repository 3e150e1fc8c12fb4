// C13, C2: online, where the maximum rises S and O are rescaled and T is not.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_entropy_unrescaled(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    State<Real> s(row.out.size());
    for (std::size_t j = 0; j < row.items(); ++j) {
      const Real deviations = s.deviations, x = score(row, j);
      if (x > s.maximum) {
        rescale(s, x);
        s.deviations = deviations;
      }
      absorb(s, row, j, x);
    }
    finish(row, s);
  });
}
