#include "experiments/language/language_lane.hpp"
#include "experiments/network_lane.hpp"

namespace softcheck::experiments {

const softcheck_language_lane& language_lane() {
#if defined(__x86_64__)
  if (&network_lane() == &softcheck_network_avx512) return softcheck_language_avx512;
  if (&network_lane() == &softcheck_network_avx2) return softcheck_language_avx2;
#endif
  return softcheck_language_baseline;
}

}  // namespace softcheck::experiments
