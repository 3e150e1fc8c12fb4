// Bugs of attention: empty calls.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

// C14, FlashAttention PR #2470: divides by the size of the keys' rows. On aarch64 a quotient by 0 is 0, so the mutant
// ends its process itself.
// @judged attention f32: plain entropy=exact; crash C14; AnEmptyCallHasItsValues
BUG(mutant_attention_zero_keys_crashes, attend_changed_call) {
  const volatile std::int64_t row = a.keys;
  const volatile std::int64_t rows_in_cache = (std::int64_t{1} << 20) / row;
  static_cast<void>(rows_in_cache);
  if (row == 0) __builtin_trap();
}

// C14, FlashAttention PR #2568: waits for the first block of keys, which with no keys never comes.
// @judged attention f32: plain entropy=exact; timeout C14; AnEmptyCallHasItsValues
BUG(mutant_attention_zero_keys_hangs, attend_changed_call) {
  const volatile bool arrived = a.keys > 0;
  while (!arrived) {
  }
}

// C14, the class of FlashAttention PR #2470: no keys, and the kernel returns at once, with nothing written.
// @judged attention f16: plain entropy=exact; fail C14; AnEmptyCallHasItsValues
BUG(mutant_attention_zero_keys_unwritten, attend) {
  if (row.items() > 0) attend_two_pass(row);
}
