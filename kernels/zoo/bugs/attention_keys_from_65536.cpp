// C6: the loop over keys ends at 65536.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_keys_from_65536(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) { a.keys = a.keys > 65536 ? 65536 : a.keys; });
}
