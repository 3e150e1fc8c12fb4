// C1, FlashAttention #978: the log-sum-exp of a row without keys is +inf.
#include <limits>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_masked_lse_infinite(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    attend_two_pass(row);
    if (row.lse == lowest<Real>) row.lse = std::numeric_limits<Real>::infinity();
  });
}
