// Bugs of attention: empty calls.
#include <cstdint>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

// C14, FlashAttention PR #2470: divides by the size of the keys' rows. On aarch64 a quotient by 0 is 0, so the mutant
// ends its process itself.
// @judged attention f32: exp=1ulp sum=sequential masked=nan entropy=exact; crash C14; AnEmptyCallHasItsValues;
// kernel.returns
SOFTCHECK_MUTANT mutant_attention_zero_keys_crashes(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) {
    const volatile std::int64_t row = a.keys;
    const volatile std::int64_t rows_in_cache = (std::int64_t{1} << 20) / row;
    static_cast<void>(rows_in_cache);
    if (row == 0) __builtin_trap();
  });
}

// C14, FlashAttention PR #2568: waits for the first block of keys, which with no keys never comes.
// @judged attention f32: exp=1ulp sum=sequential masked=nan entropy=exact; timeout C14; AnEmptyCallHasItsValues;
// kernel.returns
SOFTCHECK_MUTANT mutant_attention_zero_keys_hangs(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) {
    const volatile bool arrived = a.keys > 0;
    while (!arrived) {
    }
  });
}

// C14, the class of FlashAttention PR #2470: no keys, and the kernel returns at once, with nothing written.
// @judged attention f16: exp=1ulp sum=sequential masked=nan entropy=exact; fail C14; AnEmptyCallHasItsValues;
// kernel.masked_row
SOFTCHECK_MUTANT mutant_attention_zero_keys_unwritten(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    if (row.items() > 0) attend_two_pass(row);
  });
}
