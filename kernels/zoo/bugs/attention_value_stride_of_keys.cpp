// C7, FlagAttention #45: K's strides are used for V.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_value_stride_of_keys(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) { a.v.strides = a.k.strides; });
}
