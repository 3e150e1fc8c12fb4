// Attention of one head, d = 64, f32, one thread: ours against the naive form, which materialises all scores and takes
// libm's exp, scalar but for what the compiler vectorises. Counters: of_naive, how many times as fast; gflops, counting
// 4 n^2 d a pass over K and V; to_plain, an adaptive call's time in plain calls.
#include <benchmark/benchmark.h>

#include <cmath>

#include "kernels/bench/measure.hpp"

namespace softcheck::kernels::bench {
namespace {

struct Heads {
  explicit Heads(std::int64_t keys, std::int64_t rows)
      : n(keys), queries(rows), q(rows * d), k(keys * d), v(keys * d), out(rows * d), lse(rows), entropy(rows) {
    fill(q, 1);
    fill(k, 2);
    fill(v, 3);
    for (std::vector<float>* values : {&q, &k, &v}) {
      for (float& x : *values) {
        x = x / 8 - 1;
      }
    }
  }
  static constexpr std::int64_t d = 64;
  std::int64_t n, queries;
  std::vector<float> q, k, v, out, lse, entropy;
};

int call(softcheck_kernel kernel, Heads& h, bool causal) {
  std::int64_t rows[4] = {1, 1, h.queries, Heads::d};
  std::int64_t keys[4] = {1, 1, h.n, Heads::d};
  const auto tensor = [](std::vector<float>& data, std::int64_t* shape, int rank) {
    return DLTensor{data.data(), {kDLCPU, 0}, rank, {kDLFloat, 32, 1}, shape, nullptr, 0};
  };
  const DLTensor q = tensor(h.q, rows, 4), k = tensor(h.k, keys, 4), v = tensor(h.v, keys, 4);
  DLTensor out = tensor(h.out, rows, 4), lse = tensor(h.lse, rows, 3), entropy = tensor(h.entropy, rows, 3);
  const DLTensor* inputs[] = {&q, &k, &v};
  DLTensor* outputs[] = {&out, &lse, &entropy};
  const softcheck_call c{SOFTCHECK_KERNEL_ABI_VERSION, 3, 3, inputs, outputs, 1.0, 0.125, causal ? 1 : 0, nullptr};
  return kernel(&c);
}

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
      for (std::int64_t t = 0; t < Heads::d; ++t) {
        dot += h.q[i * Heads::d + t] * h.k[j * Heads::d + t];
      }
      row[j] = dot * 0.125f;
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
      for (std::int64_t c = 0; c < Heads::d; ++c) {
        out[c] += row[j] / sum * h.v[j * Heads::d + c];
      }
    }
  }
}

void attention(benchmark::State& state, bool causal, std::int64_t queries) {
  const softcheck_kernel plain = kernel_of("softcheck_cpu_kernels", "softcheck_attention");
  const softcheck_kernel adaptive = kernel_of("softcheck_cpu_kernels", "softcheck_adaptive_attention");
  if (plain == nullptr || adaptive == nullptr) {
    state.SkipWithError("not built here");
    return;
  }
  Heads h(state.range(0), queries == 0 ? state.range(0) : queries);
  const std::vector<double> once = interleaved_seconds({[&] { naive(h, causal); }}, 1);
  const std::vector<double> seconds =
      interleaved_seconds({[&] { call(plain, h, causal); }, [&] { call(adaptive, h, causal); }}, 5);
  for (auto _ : state) {
    call(plain, h, causal);
  }
  const double pairs = static_cast<double>(h.n) * static_cast<double>(h.queries) / (causal ? 2 : 1);
  state.counters["of_naive"] = once[0] / seconds[0];
  state.counters["adaptive_of_naive"] = once[0] / seconds[1];
  state.counters["adaptive_to_plain"] = seconds[1] / seconds[0];
  state.counters["gflops"] = 4e-9 * pairs * Heads::d / seconds[0];
}

BENCHMARK_CAPTURE(attention, full, false, 0)->Arg(256)->Arg(4096)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(attention, causal, true, 0)->Arg(4096)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(attention, decode, false, 1)->Arg(4096)->Arg(131072)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace softcheck::kernels::bench
