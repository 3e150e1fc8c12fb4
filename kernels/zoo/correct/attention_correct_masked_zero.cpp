// Correct: as two_pass, but a fully masked row is zero.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT attention_correct_masked_zero(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    const auto x = scores(row);
    finish(row, accumulate(row, x, largest(x)), Real(1), Real(0));
  });
}
