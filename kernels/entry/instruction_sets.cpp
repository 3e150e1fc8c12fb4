// SOFTCHECK_MAX_ISA=avx2 or ssse3: limits the instruction set to that one, for benchmarks and for comparing bits. Lanes
// beyond AVX-512 read the variable themselves (cpu/tiles/lanes.cpp).
#include <hwy/targets.h>

#include <cstdlib>
#include <cstring>

namespace {

// Before anything is dispatched: when the library is loaded.
__attribute__((constructor)) void limit_instruction_sets() {
  const char* most = std::getenv("SOFTCHECK_MAX_ISA");
  if (most == nullptr) {
    return;
  }
  // Each target is a bit, better ones are lower.
  if (std::strcmp(most, "avx2") == 0) {
    hwy::DisableTargets(HWY_AVX2 - 1);
  } else if (std::strcmp(most, "ssse3") == 0) {
    hwy::DisableTargets(HWY_SSSE3 - 1);
  }
}

}  // namespace
