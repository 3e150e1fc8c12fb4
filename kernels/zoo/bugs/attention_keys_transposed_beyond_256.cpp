// C7: more than 256 transposed keys are read as if they were compact.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_keys_transposed_beyond_256(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) {
    if (a.k.shape[2] <= 256 || a.k.strides[2] >= a.k.strides[3]) return;
    a.k.strides[2] = a.k.shape[3];
    a.k.strides[3] = 1;
  });
}
