#include "numerics/formats/fp_environment.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace softcheck::numerics {

#if defined(__x86_64__)
// 0x1f80 is the power-on value: all exceptions masked, round to nearest, FTZ and DAZ clear (Intel SDM vol. 1, 10.2.3).
FpEnvironmentGuard::FpEnvironmentGuard() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
FpEnvironmentGuard::~FpEnvironmentGuard() { _mm_setcsr(saved_); }
#else
FpEnvironmentGuard::FpEnvironmentGuard() {
  std::fegetenv(&saved_);
  std::fesetenv(FE_DFL_ENV);
}
FpEnvironmentGuard::~FpEnvironmentGuard() { std::fesetenv(&saved_); }
#endif

}  // namespace softcheck::numerics
