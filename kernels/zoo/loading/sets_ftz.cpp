// What g++ -ffast-math links into a shared library: a constructor that sets flush-to-zero and denormals-are-zero for
// the process that loads it. The kernel itself is right.
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {

[[gnu::constructor]] void set_ftz() {
#if defined(__SSE__)
  _mm_setcsr(_mm_getcsr() | 0x8040u);
#elif defined(__aarch64__)
  unsigned long fpcr = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  __asm__ volatile("msr fpcr, %0" ::"r"(fpcr | 0x1000000));  // FZ does both
#endif
}

}  // namespace

// @judged softmax f32: plain; fail FPU; LoadingLeavesTheEnvironment; kernel.keeps_environment
SOFTCHECK_MUTANT mutant_sets_ftz_while_loading(const softcheck_call* call) {
  return each_row(call, [](auto& row) { softmax(row); });
}
