// C5: at most 4096 keys fit the workspace of scores; later ones are left out.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_keys_from_4096(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) { a.keys = a.keys > 4096 ? 4096 : a.keys; });
}
