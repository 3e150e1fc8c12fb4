// A step of the language model's training in the lane that train() uses: tokens/s, GFLOP/s, and their share of the rate
// of fused multiply-adds in the registers of one core.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "experiments/language/language_training.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

using namespace softcheck::experiments;

constexpr int rounds = 15;

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Work>
double least_seconds(Work work) {
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round <= rounds; ++round) {
    const double start = thread_seconds();
    work();
    if (round > 0) best = std::min(best, thread_seconds() - start);
  }
  return best;
}

#if defined(__x86_64__)
constexpr std::int64_t peak_turns = 2'000'000;

// Twelve sums hide the latency of a fused multiply-add; each is eight or sixteen floats.
__attribute__((target("avx512f"))) double sums_of_512() {
  __m512 sums[12], factor = _mm512_set1_ps(0.999F), term = _mm512_set1_ps(1e-3F);
  for (__m512& sum : sums) sum = _mm512_set1_ps(1);
  for (std::int64_t i = 0; i < peak_turns; ++i) {
    for (__m512& sum : sums) sum = _mm512_fmadd_ps(sum, factor, term);
  }
  float total = 0;
  for (const __m512& sum : sums) total += _mm512_cvtss_f32(sum);
  benchmark::DoNotOptimize(total);
  return 2.0 * 16 * 12 * peak_turns;
}
__attribute__((target("avx2,fma"))) double sums_of_256() {
  __m256 sums[12], factor = _mm256_set1_ps(0.999F), term = _mm256_set1_ps(1e-3F);
  for (__m256& sum : sums) sum = _mm256_set1_ps(1);
  for (std::int64_t i = 0; i < peak_turns; ++i) {
    for (__m256& sum : sums) sum = _mm256_fmadd_ps(sum, factor, term);
  }
  float total = 0;
  for (const __m256& sum : sums) total += _mm256_cvtss_f32(sum);
  benchmark::DoNotOptimize(total);
  return 2.0 * 8 * 12 * peak_turns;
}

double peak_flops() {
  double flops = 0;
  if (&language_lane() == &softcheck_language_avx512) {
    const double seconds = least_seconds([&] { flops = sums_of_512(); });
    return flops / seconds;
  }
  if (&language_lane() == &softcheck_language_avx2) {
    const double seconds = least_seconds([&] { flops = sums_of_256(); });
    return flops / seconds;
  }
  return std::numeric_limits<double>::quiet_NaN();
}
#else
double peak_flops() { return std::numeric_limits<double>::quiet_NaN(); }
#endif

// The operations of the matrix products, forward and backward; of attention's six, only the half inside the causal
// mask. HeadWeights::line computes attention's twice, which is not counted.
double flops_of(const LanguageShape& shape, const TokenBatch& batch) {
  const double d = shape.width, f = shape.inner;
  double flops =
      6.0 * batch.tokens() * shape.layers * (4 * d * d + 3 * d * f) + 6.0 * batch.targets() * character_count * d;
  for (int text = 0; text < batch.texts(); ++text) {
    const auto at = static_cast<std::size_t>(text);
    const auto length = static_cast<double>(batch.begins[at + 1] - batch.begins[at]);
    flops += 6.0 * length * length * d * shape.layers;
  }
  return flops;
}

void language_step(benchmark::State& state) {
  const LanguageKernels kernels(std::filesystem::path(SOFTCHECK_BENCH_KERNELS) / "libsoftcheck_cpu_kernels.so");
  LanguageTrainingOptions options;
  options.design.adaptive = state.range(0) == 1;
  options.design.weights = static_cast<HeadWeights>(state.range(1));
  TrainingState training = start_training(options);
  const TokenBatch batch = draw_batch(options, training);
  const TurnTable<float> turns(options.design.shape);
  LanguageParts<float> parts(kernels, options.design, batch);
  Floats gradient(training.parameters.size());
  for (auto _ : state) {
    const double peak = peak_flops();
    const double seconds = least_seconds([&] {
      language_lane().loss_and_gradient(options.design.shape, training.parameters.data(), lane_batch(batch, turns),
                                        parts.calls(), gradient.data());
    });
    const double speed = flops_of(options.design.shape, batch) / seconds;
    state.counters["tokens_per_s"] = batch.tokens() / seconds;
    state.counters["GFLOPs"] = speed * 1e-9;
    state.counters["peak_GFLOPs"] = peak * 1e-9;
    state.counters["share_of_peak"] = speed / peak;
  }
}
BENCHMARK(language_step)
    ->ArgNames({"adaptive", "weights"})
    ->Apply([](benchmark::internal::Benchmark* bench) {
      bench->Args({1, static_cast<int>(HeadWeights::softmax)});
      for (const HeadWeightsRow& row : head_weights) bench->Args({0, static_cast<int>(row.weights)});
    })
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
