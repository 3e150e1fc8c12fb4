#include "numerics/formats/fp_environment.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#elif defined(__aarch64__)
#include <cstdint>
#endif

namespace softcheck::numerics {

#if defined(__x86_64__)
namespace {

// The power-on value: all exceptions masked, round to nearest, FTZ and DAZ clear (Intel SDM vol. 1, 10.2.3). The low
// six bits are sticky exception flags.
constexpr unsigned power_on = 0x1f80, flags = 0x3f;
// Reserved bits are set, so no register has this value.
constexpr unsigned nothing_to_put_back = ~0u;

// Living guards of this thread. The innermost guards surround single operations and find the register set by an outer
// one: writing the register took a sixth of a judgement.
thread_local unsigned guards = 0;

}  // namespace

FpEnvironmentGuard::FpEnvironmentGuard() : saved_(_mm_getcsr()) {
  if (guards++ > 0 && (saved_ & ~flags) == power_on) {
    saved_ = nothing_to_put_back;
  } else {
    _mm_setcsr(power_on);
  }
}
FpEnvironmentGuard::~FpEnvironmentGuard() {
  --guards;
  if (saved_ != nothing_to_put_back) _mm_setcsr(saved_);
}
#elif defined(__aarch64__)
namespace {

std::uint64_t fpcr() {
  std::uint64_t value = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
void set_fpcr(std::uint64_t value) { __asm__ volatile("msr fpcr, %0" ::"r"(value)); }

}  // namespace

// 0: no exception traps, round to nearest, FZ and FZ16 clear, NaNs propagate, IEEE half precision (Arm Architecture
// Reference Manual, FPCR). fesetenv(FE_DFL_ENV) of the GNU C library leaves FZ16 and the last two unchanged.
FpEnvironmentGuard::FpEnvironmentGuard() : saved_(fpcr()) {
  if (saved_ != 0) set_fpcr(0);
}
FpEnvironmentGuard::~FpEnvironmentGuard() {
  if (fpcr() != saved_) set_fpcr(saved_);
}
#else
FpEnvironmentGuard::FpEnvironmentGuard() {
  std::fegetenv(&saved_);
  std::fesetenv(FE_DFL_ENV);
}
FpEnvironmentGuard::~FpEnvironmentGuard() { std::fesetenv(&saved_); }
#endif

}  // namespace softcheck::numerics
