// C10: a group has at most seven query heads beside its first; the eighth looks at the next key head.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_group_of_eight(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) {
    const std::int64_t group = a.k.shape[1] == 0 ? 1 : a.q.shape[1] / a.k.shape[1];
    for (std::size_t h = 0; h < a.key_head.size() && group >= 8; ++h) {
      if (static_cast<std::int64_t>(h) % group >= 7) a.key_head[h] = (a.key_head[h] + 1) % a.k.shape[1];
    }
  });
}
