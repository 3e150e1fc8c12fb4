// C10, metal-flash-attention #8: the scale is applied twice.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_scale_twice(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) { a.scale *= a.scale; });
}
