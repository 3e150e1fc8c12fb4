#include "judge/sandbox/environment_bits.hpp"

#include <cfenv>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace softcheck::proptests {

EnvironmentBits environment_bits() {
  EnvironmentBits bits;
#if defined(__x86_64__)
  unsigned long flags = 0;
  // Skip the red zone: pushfq would overwrite values that the compiler keeps there.
  __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\tpop %0\n\tlea 128(%%rsp), %%rsp\n\tcld" : "=r"(flags)::"cc");
  bits.backwards = (flags & 0x400) != 0;
  struct alignas(16) Saved {
    std::uint16_t control, status;
    std::uint8_t in_use, rest[507];
  } saved;
  __asm__ volatile("fxsave64 %0" : "=m"(saved));
  bits.x87 = static_cast<std::uint32_t>(saved.control) << 8 | saved.in_use;
  bits.control = _mm_getcsr() & ~0x3fu;
#elif defined(__aarch64__)
  __asm__ volatile("mrs %0, fpcr" : "=r"(bits.control));
#else
  bits.control = static_cast<std::uint64_t>(std::fegetround());
#endif
  return bits;
}

}  // namespace softcheck::proptests
