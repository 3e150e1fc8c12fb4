// C4, NNlib #506: no maximum is subtracted.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_no_max_shift(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) { finish(row, accumulate(row, scores(row), Real(0))); });
}
