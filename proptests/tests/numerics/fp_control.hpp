#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

// The register that says how the processor rounds and whether it flushes subnormal numbers, for tests that spoil it.
namespace softcheck::numerics {

#if defined(__x86_64__)
inline constexpr bool has_fp_control = true;
/// Intel SDM vol. 1, 10.2.3: FTZ and DAZ of MXCSR, one of them, what -ffast-math sets, and the power-on value.
inline constexpr std::uint64_t flush_bits = 0x8040, one_flush_bit = 0x8000, fast_math_bits = 0x8040, power_on = 0x1f80;
inline std::uint64_t fp_control() { return _mm_getcsr(); }
inline void set_fp_control(std::uint64_t value) { _mm_setcsr(static_cast<unsigned>(value)); }
#elif defined(__aarch64__)
inline constexpr bool has_fp_control = true;
/// Arm Architecture Reference Manual, FPCR: FZ (bit 24) and FZ16 (bit 19), one of them, what -ffast-math sets, and the
/// value at power-on.
inline constexpr std::uint64_t flush_bits = 0x1080000, one_flush_bit = 0x80000, fast_math_bits = 0x1000000,
                               power_on = 0;
inline std::uint64_t fp_control() {
  std::uint64_t value = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
inline void set_fp_control(std::uint64_t value) { __asm__ volatile("msr fpcr, %0" ::"r"(value) : "memory"); }
#else
/// Tests skip: no register is known.
inline constexpr bool has_fp_control = false;
inline constexpr std::uint64_t flush_bits = 0, one_flush_bit = 0, fast_math_bits = 0, power_on = 0;
inline std::uint64_t fp_control() { return 0; }
inline void set_fp_control(std::uint64_t) {}
#endif

}  // namespace softcheck::numerics
