// C6, the class of FlashAttention PR #2260, at a size that any test can afford: the offset of a key wraps at 2^16.
#include <cstdint>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_short_offset(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) {
    a.k.offset = [](std::int64_t offset) { return static_cast<std::int64_t>(static_cast<std::uint16_t>(offset)); };
  });
}
