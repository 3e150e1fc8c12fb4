// C9, the class of Liger #1252: where the maximum rises S is rescaled and O is not.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_output_not_rescaled(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    State<Real> s(row.out.size());
    for (std::size_t j = 0; j < row.items(); ++j) {
      const auto values = s.values;
      const Real x = score(row, j);
      if (x > s.maximum) {
        rescale(s, x);
        s.values = values;
      }
      absorb(s, row, j, x);
    }
    finish(row, s);
  });
}
