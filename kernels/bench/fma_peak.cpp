// softcheck_fma_peak: f32 multiply-adds on registers, with this machine's widest vectors. torch_attention.py measures
// the peak with it, in the process that compares the kernels.
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstdint>

#define SOFTCHECK_EXPORT __attribute__((visibility("default")))

namespace {

#if defined(__x86_64__)
// Twelve sums hide the latency of a fused multiply-add. No turn reads memory.
__attribute__((target("avx512f"))) float sums_of_512(std::int64_t turns) {
  __m512 sums[12];
  const __m512 factor = _mm512_set1_ps(0.999F);
  const __m512 term = _mm512_set1_ps(1e-3F);
  for (__m512& sum : sums) sum = _mm512_set1_ps(1);
  for (std::int64_t i = 0; i < turns; ++i) {
    for (__m512& sum : sums) sum = _mm512_fmadd_ps(sum, factor, term);
  }
  float total = 0;
  for (const __m512& sum : sums) total += _mm512_cvtss_f32(sum);
  return total;
}
__attribute__((target("avx2,fma"))) float sums_of_256(std::int64_t turns) {
  __m256 sums[12];
  const __m256 factor = _mm256_set1_ps(0.999F);
  const __m256 term = _mm256_set1_ps(1e-3F);
  for (__m256& sum : sums) sum = _mm256_set1_ps(1);
  for (std::int64_t i = 0; i < turns; ++i) {
    for (__m256& sum : sums) sum = _mm256_fmadd_ps(sum, factor, term);
  }
  float total = 0;
  for (const __m256& sum : sums) total += _mm256_cvtss_f32(sum);
  return total;
}
#endif

}  // namespace

/// turns        turns of the loop, each of twelve vectors
/// total        receives the sum of the vectors' first lanes, so that the compiler keeps the loop
/// returns      the floating-point operations, two per multiply-add; 0 if this machine has neither AVX-512 nor AVX2
extern "C" SOFTCHECK_EXPORT double softcheck_fma_peak([[maybe_unused]] std::int64_t turns, float* total) {
  *total = 0;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    *total = sums_of_512(turns);
    return 2.0 * 16 * 12 * static_cast<double>(turns);
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    *total = sums_of_256(turns);
    return 2.0 * 8 * 12 * static_cast<double>(turns);
  }
#endif
  return 0;
}
