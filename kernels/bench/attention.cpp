// Attention of one head, d = 64, f32, one thread: ours against the naive form, which materialises all scores and calls
// libm's exp, scalar except for loops that the compiler vectorises. Counters: of_naive, how many times as fast; gflops,
// counting 4 n^2 d per pass over K and V; *_to_plain, the time of an adaptive call, or of its scores' statistics, over
// that of a plain call; of_read, the time of only reading K and V over the kernel's time.
#include <benchmark/benchmark.h>

#include <cmath>

#include "kernels/bench/attention_heads.hpp"

namespace softcheck::kernels::bench {
namespace {

// All scores, then the softmax of each row, then the values: three loops over (queries, n).
void naive(Heads& h, bool causal) {
  static std::vector<float> p;
  p.assign(static_cast<std::size_t>(h.queries * h.n), 0.0f);
  for (std::int64_t i = 0; i < h.queries; ++i) {
    const std::int64_t seen = causal ? i + 1 + h.n - h.queries : h.n;
    float* row = p.data() + i * h.n;
    float m = -std::numeric_limits<float>::infinity();
    for (std::int64_t j = 0; j < seen; ++j) {
      float dot = 0;
      for (std::int64_t t = 0; t < Heads::d; ++t) dot += h.q[i * Heads::d + t] * h.k[j * Heads::d + t];
      row[j] = dot * Heads::scale;
      m = std::max(m, row[j]);
    }
    float sum = 0;
    for (std::int64_t j = 0; j < seen; ++j) {
      row[j] = std::exp(row[j] - m);
      sum += row[j];
    }
    float* out = h.out.data() + i * Heads::d;
    std::fill(out, out + Heads::d, 0.0f);
    for (std::int64_t j = 0; j < seen; ++j) {
      for (std::int64_t c = 0; c < Heads::d; ++c) out[c] += row[j] / sum * h.v[j * Heads::d + c];
    }
  }
}

// A lower limit for a query: reads its keys and values once, with the compiler's vectorisation.
__attribute__((target_clones("avx512f", "avx2", "default"))) void read_keys(Heads& h) {
  float sums[Heads::d] = {};
  for (const std::vector<float>* values : {&h.k, &h.v}) {
    const float* x = values->data();
    for (std::int64_t i = 0; i < h.n; ++i, x += Heads::d) {
      for (std::int64_t c = 0; c < Heads::d; ++c) sums[c] += x[c];
    }
  }
  benchmark::DoNotOptimize(sums);
}

// m, S - 1, T and U of the scores, without values.
int call_statistics(softcheck_kernel kernel, Heads& h, bool causal) {
  static std::vector<float> squares;
  squares.resize(static_cast<std::size_t>(h.queries));
  HeadRows q(h.q), k(h.k), m(h.out, h.queries), sums(h.lse, h.queries), deviations(h.entropy, h.queries),
      u(squares, h.queries);
  const DLTensor* inputs[] = {q.get(), k.get()};
  DLTensor* outputs[] = {m.get(), sums.get(), deviations.get(), u.get()};
  const softcheck_call c = call_of(inputs, outputs, Heads::scale, causal);
  return kernel(&c);
}

void attention(benchmark::State& state, bool causal, std::int64_t queries) {
  const softcheck_kernel plain = kernel_of("softcheck_cpu_kernels", "softcheck_attention");
  const softcheck_kernel adaptive = kernel_of("softcheck_cpu_kernels", "softcheck_adaptive_attention");
  const softcheck_kernel statistics = kernel_of("softcheck_cpu_kernels", "softcheck_attention_statistics");
  if (plain == nullptr || adaptive == nullptr || statistics == nullptr) {
    state.SkipWithError("not built here");
    return;
  }
  Heads h(state.range(0), queries == 0 ? state.range(0) : queries);
  const std::vector<double> once = interleaved_seconds({[&] { naive(h, causal); }}, h.queries == 1 ? 20 : 1);
  const std::vector<double> seconds =
      interleaved_seconds({[&] { call_attention(plain, h, causal); }, [&] { call_attention(adaptive, h, causal); },
                           [&] { read_keys(h); }, [&] { call_statistics(statistics, h, causal); }},
                          h.queries == 1 ? 20 : 5);
  for (auto _ : state) call_attention(plain, h, causal);
  const double pairs = static_cast<double>(h.n) * static_cast<double>(h.queries) / (causal ? 2 : 1);
  state.counters["of_naive"] = once[0] / seconds[0];
  state.counters["adaptive_of_naive"] = once[0] / seconds[1];
  state.counters["adaptive_to_plain"] = seconds[1] / seconds[0];
  state.counters["statistics_to_plain"] = seconds[3] / seconds[0];
  if (h.queries == 1) state.counters["of_read"] = seconds[2] / seconds[0];
  state.counters["gflops"] = 4e-9 * pairs * Heads::d / seconds[0];
}

BENCHMARK_CAPTURE(attention, full, false, 0)->Arg(256)->Arg(4096)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(attention, causal, true, 0)->Arg(4096)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(attention, decode, false, 1)->Arg(4096)->Arg(131072)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace softcheck::kernels::bench
