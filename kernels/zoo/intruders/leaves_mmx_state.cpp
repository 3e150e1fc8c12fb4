// Uses an MMX register and returns without emms: the caller's next x87 instruction finds no free register.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

// @judged softmax f32: plain; fail FPU; kernel.keeps_environment
SOFTCHECK_MUTANT mutant_leaves_mmx_state(const softcheck_call* call) {
  const int status = each_row(call, [](auto& row) { softmax(row); });
#if defined(__x86_64__)
  __asm__ volatile("pxor %%mm0, %%mm0" ::: "mm0");
#endif
  return status;
}
