// C10, the class of metal-flash-attention #8: the scale is that of the first call.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_scale_of_first_call(const softcheck_call* call) {
  static const double first = call->scale;
  return attend(call, two_pass, [](Attention& a) { a.scale = first; });
}
