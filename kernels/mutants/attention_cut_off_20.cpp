// C11: weights below e^-20 are left out.
#include "kernels/mutants/attention_states.hpp"

using namespace softcheck::kernels::mutants::attention;

SOFTCHECK_MUTANT mutant_attention_cut_off_20(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    auto x = scores(row);
    const Real m = largest(x);
    for (Real& value : x) value = m - value > Real(20) ? lowest<Real> : value;
    finish(row, accumulate(row, x, m));
  });
}
