// C14, FlashAttention PR #2568: waits for the first block of keys, which with no keys never comes.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_zero_keys_hangs(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) {
    const volatile bool arrived = a.keys > 0;
    while (!arrived) {
    }
  });
}
