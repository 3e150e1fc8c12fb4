// C10: the scale is folded in as a root on each side: the sign of a scale between -1 and 0 is lost.
#include "kernels/mutants/attention_states.hpp"

using namespace softcheck::kernels::mutants::attention;

SOFTCHECK_MUTANT mutant_attention_negative_scale(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) { a.scale = a.scale > -1 && a.scale < 0 ? -a.scale : a.scale; });
}
