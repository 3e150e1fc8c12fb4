// C10, the class of HipKittens PR #22: query head h takes key head h mod the number of key heads, where h divided by
// the size of a group is right.
#include <cstdint>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_grouped_heads_interleaved(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) {
    std::int64_t h = 0;
    for (std::int64_t& head : a.key_head) head = h++ % a.k.shape[1];
  });
}
