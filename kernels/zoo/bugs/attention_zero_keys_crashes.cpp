// C14, FlashAttention PR #2470: divides by the size of the keys' rows. On aarch64 a quotient by 0 is 0, so the mutant
// ends its process itself.
#include <cstdint>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_zero_keys_crashes(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) {
    const volatile std::int64_t row = a.keys;
    const volatile std::int64_t rows_in_cache = (std::int64_t{1} << 20) / row;
    static_cast<void>(rows_in_cache);
    if (row == 0) __builtin_trap();
  });
}
