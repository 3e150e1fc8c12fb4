// C5, the class of PyTorch #154634: keys in blocks of 8, what is left over is not looked at.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_drops_key_tail(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) { a.keys -= a.keys > 8 ? a.keys % 8 : 0; });
}
