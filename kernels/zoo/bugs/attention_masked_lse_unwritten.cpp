// C16, tilelang PR #2461: the log-sum-exp of a row without keys is never written.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_masked_lse_unwritten(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    const Real before = row.lse;
    attend_two_pass(row);
    if (row.lse == lowest<Real>) row.lse = before;
  });
}
