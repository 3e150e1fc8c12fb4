#include "numerics/formats/fp_environment.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#elif defined(__aarch64__)
#include <cstdint>
#endif

namespace softcheck::numerics {

#if defined(__x86_64__)
// 0x1f80 is the power-on value: all exceptions masked, round to nearest, FTZ and DAZ clear (Intel SDM vol. 1, 10.2.3).
FpEnvironmentGuard::FpEnvironmentGuard() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
FpEnvironmentGuard::~FpEnvironmentGuard() { _mm_setcsr(saved_); }
#elif defined(__aarch64__)
namespace {

std::uint64_t fpcr() {
  std::uint64_t value = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
void set_fpcr(std::uint64_t value) { __asm__ volatile("msr fpcr, %0" ::"r"(value)); }

}  // namespace

// 0: no exception traps, round to nearest, FZ and FZ16 clear, NaNs propagate, halves are IEEE's (Arm Architecture
// Reference Manual, FPCR). fesetenv(FE_DFL_ENV) of the GNU C library leaves FZ16 and the last two as it finds them.
FpEnvironmentGuard::FpEnvironmentGuard() : saved_(fpcr()) { set_fpcr(0); }
FpEnvironmentGuard::~FpEnvironmentGuard() { set_fpcr(saved_); }
#else
FpEnvironmentGuard::FpEnvironmentGuard() {
  std::fegetenv(&saved_);
  std::fesetenv(FE_DFL_ENV);
}
FpEnvironmentGuard::~FpEnvironmentGuard() { std::fesetenv(&saved_); }
#endif

}  // namespace softcheck::numerics
