#pragma once

#include <cfenv>
#include <cstdint>

namespace softcheck::numerics {

/// Sets the floating-point environment that the oracle needs (round to nearest, no flush-to-zero, no
/// denormals-are-zero) for its lifetime, and then restores the previous one.
///
/// Every entry point needs it: g++ links start-up code that sets both flags into any shared library built with
/// -ffast-math, so merely loading such a kernel makes mpfr_set_d read subnormal numbers as zero. On aarch64 one flag,
/// FZ of FPCR, does both.
class [[nodiscard]] FpEnvironmentGuard {
 public:
  FpEnvironmentGuard();
  ~FpEnvironmentGuard();
  FpEnvironmentGuard(const FpEnvironmentGuard&) = delete;
  FpEnvironmentGuard& operator=(const FpEnvironmentGuard&) = delete;

 private:
#if defined(__x86_64__)
  unsigned saved_;  // MXCSR: reading all of fenv_t costs a hundred times more, and the oracle uses no x87 arithmetic
#elif defined(__aarch64__)
  std::uint64_t saved_;  // FPCR
#else
  std::fenv_t saved_;
#endif
};

}  // namespace softcheck::numerics
