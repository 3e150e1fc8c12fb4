// C7, the class of rocm-libraries #11387: the byte offset of V is not looked at.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_ignores_value_offset(const softcheck_call* call) {
  return attend(call, two_pass, [call](Attention& a) { a.v.first = static_cast<char*>(call->inputs[2]->data); });
}
