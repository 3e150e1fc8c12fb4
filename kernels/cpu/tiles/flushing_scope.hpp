#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace softcheck::kernels::cpu {

/// While it lives, this thread rounds to nearest and takes subnormal numbers for 0, as operands and as results. Then
/// the environment is as before, flags included.
class FlushingScope {
 public:
#if defined(__x86_64__)
  FlushingScope() : before_(_mm_getcsr()) { _mm_setcsr(masked | flush_results | flush_operands); }
  ~FlushingScope() { _mm_setcsr(before_); }
#elif defined(__aarch64__)
  FlushingScope() {
    __asm__ volatile("mrs %0, fpcr" : "=r"(before_));
    write(std::uint64_t{1} << 24);  // FZ
  }
  ~FlushingScope() { write(before_); }
#endif
  FlushingScope(const FlushingScope&) = delete;
  FlushingScope& operator=(const FlushingScope&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr unsigned masked = 0x1f80, flush_results = 0x8000, flush_operands = 0x40;  // of MXCSR
  unsigned before_;
#elif defined(__aarch64__)
  static void write(std::uint64_t fpcr) { __asm__ volatile("msr fpcr, %0" : : "r"(fpcr) : "memory"); }
  std::uint64_t before_;
#endif
};

}  // namespace softcheck::kernels::cpu
