// The gradient of attention of one head, d = 64, f32. One thread against the naive form, which materialises scores and
// their gradients; counters: of_naive; to_forward and adaptive_to_forward, the time in plain forward calls; gflops,
// counting the five products of n^2 d that a gradient takes when nothing is computed twice. And threads: how many times
// as fast as one, by the clock on the wall, which other work on the machine slows.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cmath>
#include <cstdlib>

#include "kernels/bench/attention_heads.hpp"

namespace softcheck::kernels::bench {
namespace {

Heads heads_with_gradients(std::int64_t n) {
  Heads h(n, n);
  h.incoming.resize(h.out.size());
  fill(h.incoming, 4);
  for (float& x : h.incoming) x = x / 8 - 1;
  h.dq.resize(h.q.size());
  h.dk.resize(h.k.size());
  h.dv.resize(h.v.size());
  return h;
}

int call_backward(softcheck_kernel kernel, Heads& h, bool causal) {
  HeadRows q(h.q), k(h.k), v(h.v), incoming(h.incoming), dq(h.dq), dk(h.dk), dv(h.dv);
  const DLTensor* inputs[] = {q.get(), k.get(), v.get(), incoming.get()};
  DLTensor* outputs[] = {dq.get(), dk.get(), dv.get()};
  const softcheck_call c = call_of(inputs, outputs, Heads::scale, causal);
  return kernel(&c);
}

float dot(const float* a, const float* b) {
  float sum = 0;
  for (std::int64_t t = 0; t < Heads::d; ++t) sum += a[t] * b[t];
  return sum;
}

void add_scaled(float* to, float factor, const float* x) {
  for (std::int64_t t = 0; t < Heads::d; ++t) to[t] += factor * x[t];
}

// Rows of probabilities p and of gradients ds, (n, n) each.
void naive_backward(Heads& h, bool causal) {
  static std::vector<float> p, ds;
  p.assign(static_cast<std::size_t>(h.n * h.n), 0.0f);
  ds.assign(p.size(), 0.0f);
  const auto at = [](std::vector<float>& x, std::int64_t row) { return x.data() + row * Heads::d; };
  for (std::int64_t i = 0; i < h.n; ++i) {
    const std::int64_t seen = causal ? i + 1 : h.n;
    float *row = p.data() + i * h.n, *gradient = ds.data() + i * h.n;
    float m = -std::numeric_limits<float>::infinity(), sum = 0, mean = 0;
    for (std::int64_t j = 0; j < seen; ++j) {
      row[j] = dot(at(h.q, i), at(h.k, j)) * Heads::scale;
      m = std::max(m, row[j]);
    }
    for (std::int64_t j = 0; j < seen; ++j) {
      row[j] = std::exp(row[j] - m);
      sum += row[j];
    }
    for (std::int64_t j = 0; j < seen; ++j) {
      row[j] /= sum;
      gradient[j] = dot(at(h.incoming, i), at(h.v, j));
      mean += row[j] * gradient[j];
    }
    for (std::int64_t j = 0; j < seen; ++j) gradient[j] = Heads::scale * row[j] * (gradient[j] - mean);
  }
  for (std::vector<float>* result : {&h.dq, &h.dk, &h.dv}) std::fill(result->begin(), result->end(), 0.0f);
  for (std::int64_t i = 0; i < h.n; ++i) {
    for (std::int64_t j = 0; j < (causal ? i + 1 : h.n); ++j) {
      add_scaled(at(h.dq, i), ds[static_cast<std::size_t>(i * h.n + j)], at(h.k, j));
      add_scaled(at(h.dk, j), ds[static_cast<std::size_t>(i * h.n + j)], at(h.q, i));
      add_scaled(at(h.dv, j), p[static_cast<std::size_t>(i * h.n + j)], at(h.incoming, i));
    }
  }
}

void backward(benchmark::State& state, bool causal) {
  const softcheck_kernel forward = kernel_of("softcheck_cpu_kernels", "softcheck_attention");
  const softcheck_kernel plain = kernel_of("softcheck_cpu_kernels", "softcheck_attention_backward");
  const softcheck_kernel adaptive = kernel_of("softcheck_cpu_kernels", "softcheck_adaptive_attention_backward");
  if (forward == nullptr || plain == nullptr || adaptive == nullptr) {
    state.SkipWithError("not built here");
    return;
  }
  Heads h = heads_with_gradients(state.range(0));
  const std::vector<double> once = interleaved_seconds({[&] { naive_backward(h, causal); }}, 1);
  const std::vector<double> seconds =
      interleaved_seconds({[&] { call_backward(plain, h, causal); }, [&] { call_backward(adaptive, h, causal); },
                           [&] { call_attention(forward, h, causal); }},
                          5);
  for (auto _ : state) call_backward(plain, h, causal);
  const double pairs = static_cast<double>(h.n) * static_cast<double>(h.n) / (causal ? 2 : 1);
  state.counters["of_naive"] = once[0] / seconds[0];
  state.counters["adaptive_of_naive"] = once[0] / seconds[1];
  state.counters["to_forward"] = seconds[0] / seconds[2];
  state.counters["adaptive_to_forward"] = seconds[1] / seconds[2];
  state.counters["gflops"] = 10e-9 * pairs * Heads::d / seconds[0];
}

double wall_seconds(const std::function<void()>& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 5; ++round) {
    const auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

void threads(benchmark::State& state) {
  const softcheck_kernel forward = kernel_of("softcheck_cpu_kernels", "softcheck_attention");
  const softcheck_kernel plain = kernel_of("softcheck_cpu_kernels", "softcheck_attention_backward");
  if (forward == nullptr || plain == nullptr) {
    state.SkipWithError("not built here");
    return;
  }
  Heads h = heads_with_gradients(2048);
  const auto seconds = [&](const char* count, const std::function<void()>& work) {
    setenv("SOFTCHECK_THREADS", count, 1);
    const double result = wall_seconds(work);
    unsetenv("SOFTCHECK_THREADS");
    return result;
  };
  const auto of_one = [&](const std::function<void()>& work) {
    return seconds("1", work) / seconds(std::to_string(state.range(0)).c_str(), work);
  };
  for (auto _ : state) {
    state.counters["forward_of_one_thread"] = of_one([&] { call_attention(forward, h, true); });
    state.counters["backward_of_one_thread"] = of_one([&] { call_backward(plain, h, true); });
  }
}

BENCHMARK_CAPTURE(backward, full, false)->Arg(256)->Arg(2048)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(backward, causal, true)->Arg(2048)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(threads)->Arg(2)->Arg(4)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace softcheck::kernels::bench
