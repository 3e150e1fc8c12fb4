// C14, the class of FlashAttention PR #2470: no keys, and the kernel returns at once, with nothing written.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_zero_keys_unwritten(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    if (row.items() > 0) attend_two_pass(row);
  });
}
