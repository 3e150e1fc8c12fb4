// Bugs of rows: the floating-point environment.
#include <cfenv>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

// The rounding mode is changed and not put back.
// @judged softmax f32: plain; fail FPU; kernel.keeps_environment
SOFTCHECK_MUTANT mutant_rounds_upward(const softcheck_call* call) {
  const int status = each_row(call, [](auto& row) { softmax(row); });
  std::fesetround(FE_UPWARD);
  return status;
}

// The toolchain's -ffast-math at run time: flush-to-zero and denormals-are-zero stay set after the call.
#ifdef __SSE__
#include <xmmintrin.h>
#endif

// @judged softmax f32: plain; fail FPU; kernel.keeps_environment
SOFTCHECK_MUTANT mutant_sets_ftz(const softcheck_call* call) {
  const int status = each_row(call, [](auto& row) { softmax(row); });
#ifdef __SSE__
  _mm_setcsr(_mm_getcsr() | 0x8040u);  // FTZ and DAZ
#elif defined(__aarch64__)
  unsigned long fpcr = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  __asm__ volatile("msr fpcr, %0" ::"r"(fpcr | 0x1000000));  // FZ
#endif
  return status;
}
