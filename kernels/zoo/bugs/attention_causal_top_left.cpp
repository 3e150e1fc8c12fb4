// C10, CUTLASS #2336: the causal mask aligns the first query with the first key, lengths being unequal.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_causal_top_left(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) { a.diagonal = 0; });
}
