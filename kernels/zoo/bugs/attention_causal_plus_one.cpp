// C10: a query sees one key too many under the causal mask.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_causal_plus_one(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) { ++a.diagonal; });
}
