// C10, the class of Keras #23038: with a boolean mask the causal one is dropped.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_causal_or_mask(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) { a.causal = a.causal && !a.masked; });
}
