#include "experiments/network_lane.hpp"

namespace softcheck::experiments {

const softcheck_network_lane& network_lane() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl")) {
    return softcheck_network_avx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return softcheck_network_avx2;
#endif
  return softcheck_network_baseline;
}

}  // namespace softcheck::experiments
