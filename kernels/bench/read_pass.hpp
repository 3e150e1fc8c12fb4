#pragma once

#include <algorithm>
#include <cstdint>

namespace softcheck::kernels::bench {

/// A lower limit for reading a row: finds its largest logit, with the compiler's vectorisation.
__attribute__((target_clones("avx512f", "avx2", "default"))) static float largest(const float* x, std::int64_t n) {
  constexpr std::int64_t lanes = 128;
  float best[lanes];
  std::fill(best, best + lanes, x[0]);
  for (std::int64_t i = 0; i + lanes <= n; i += lanes) {
    for (std::int64_t l = 0; l < lanes; ++l) {
      best[l] = x[i + l] > best[l] ? x[i + l] : best[l];
    }
  }
  return *std::max_element(best, best + lanes);
}

}  // namespace softcheck::kernels::bench
