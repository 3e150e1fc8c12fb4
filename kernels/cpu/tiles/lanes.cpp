#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cstdlib>
#include <cstring>

#include "kernels/cpu/tiles/tile_lane.hpp"

namespace softcheck::kernels::cpu {

extern const TileLane amx_lane, dot_lane, fma_lane;

namespace {

bool is_limited_to(const char* instruction_set) {
  const char* most = std::getenv("SOFTCHECK_MAX_ISA");
  return most != nullptr && std::strcmp(most, instruction_set) == 0;
}

#if defined(__x86_64__)

bool has_bit(unsigned value, int at) { return (value >> at & 1u) != 0; }

bool has_avx512_bf16() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && has_bit(a, 5) && __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0;
}

#if defined(__linux__)
/// Whether the processor has AMX with bf16, and the system lets this process use it: it asks Linux for the tiles' part
/// of the state, which threads and children inherit.
bool has_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || !has_bit(d, 24) || !has_bit(d, 22)) {  // AMX-TILE, AMX-BF16
    return false;
  }
  constexpr long request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}
#else
bool has_amx() { return false; }
#endif

const TileLane* choose_lane() {
  const bool has_fma = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  if (!has_fma || is_limited_to("ssse3")) {
    return nullptr;
  }
  if (is_limited_to("avx2") || !has_avx512_bf16()) {
    return &fma_lane;
  }
  return !is_limited_to("avx512") && has_amx() ? &amx_lane : &dot_lane;
}

#else

const TileLane* choose_lane() { return is_limited_to("ssse3") ? nullptr : &fma_lane; }

#endif

}  // namespace

const TileLane* tile_lane() {
  static const TileLane* const lane = choose_lane();
  return lane;
}

}  // namespace softcheck::kernels::cpu
