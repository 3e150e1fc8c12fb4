// Rows, f32, one thread: ours, oneDNN's softmax, memcpy, a pass that reads and takes the maximum, and a loop over libm,
// in turns. Counters are ratios of CPU times, each the least of several rounds. Above 1 the first named is faster:
// softmax_of_onednn (ours also computes the entropy), entropy_of_read_max, entropy_of_libm. adaptive_to_softmax,
// backward_to_adaptive and to_f32 are costs.
// ONEDNN_MAX_CPU_ISA=AVX2 and SOFTCHECK_MAX_ISA=avx2 limit both to AVX2.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "kernels/bench/measure.hpp"
#include "kernels/bench/read_pass.hpp"

namespace softcheck::kernels::bench {
namespace {

struct Rows {
  Rows(std::int64_t columns, std::int64_t elements)
      : n(columns), rows(elements / columns), logits(elements), probs(elements), entropies(rows) {
    fill(logits, 1);  // within 16 of each other: nothing underflows, nothing is skipped
  }
  std::size_t bytes() const { return logits.size() * sizeof(float); }

  std::int64_t n, rows;
  std::vector<float> logits, probs, entropies;
};

// outputs: 1 for probabilities or entropies, 2 for both.
int call(softcheck_kernel kernel, Rows& rows, std::uint32_t outputs, bool entropy_first = false) {
  CallTensor in(rows.logits.data(), {rows.rows, rows.n}), probs(rows.probs.data(), {rows.rows, rows.n}),
      entropies(rows.entropies.data(), {rows.rows});
  const DLTensor* inputs[] = {in.get()};
  DLTensor* to[] = {entropy_first ? entropies.get() : probs.get(), entropies.get()};
  const softcheck_call c = call_of(inputs, {to, outputs});
  return kernel(&c);
}

void libm_softmax(Rows& rows) {
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    const float* x = rows.logits.data() + r * rows.n;
    float* p = rows.probs.data() + r * rows.n;
    const float m = *std::max_element(x, x + rows.n);
    float sum = 0;
    for (std::int64_t i = 0; i < rows.n; ++i) {
      p[i] = std::exp(x[i] - m);
      sum += p[i];
    }
    for (std::int64_t i = 0; i < rows.n; ++i) p[i] /= sum;
  }
}

// ln S + T / S, exp and log by libm.
void libm_entropy(Rows& rows) {
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    const float* x = rows.logits.data() + r * rows.n;
    const float m = *std::max_element(x, x + rows.n);
    float sum = 0, deviations = 0;
    for (std::int64_t i = 0; i < rows.n; ++i) {
      const float w = std::exp(x[i] - m);
      sum += w;
      deviations += w * (m - x[i]);
    }
    rows.entropies[static_cast<std::size_t>(r)] = std::log(sum) + deviations / sum;
  }
}

void read_maximum(Rows& rows) {
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    rows.entropies[static_cast<std::size_t>(r)] = largest(rows.logits.data() + r * rows.n, rows.n);
  }
}

void rows(benchmark::State& state, std::int64_t elements) {
  const softcheck_kernel softmax = kernel_of("softcheck_cpu_kernels", "softcheck_softmax");
  const softcheck_kernel entropy = kernel_of("softcheck_cpu_kernels", "softcheck_entropy");
  const softcheck_kernel adaptive = kernel_of("softcheck_cpu_kernels", "softcheck_adaptive_softmax");
  const softcheck_kernel onednn = kernel_of("softcheck_peer_onednn", "softcheck_onednn_softmax");
  Rows r(state.range(0), elements);
  if (softmax == nullptr || entropy == nullptr || adaptive == nullptr) {
    state.SkipWithError("not built here");
    return;
  }
  const bool peer = onednn != nullptr && call(onednn, r, 1) == 0;
  const auto ours = [&] { call(softmax, r, 2); };
  const std::vector<double> s =
      interleaved_seconds({ours, [&] { call(entropy, r, 1, true); }, [&] { call(adaptive, r, 1); },
                           [&] {
                             if (peer) call(onednn, r, 1);
                           },
                           [&] { std::memcpy(r.probs.data(), r.logits.data(), r.bytes()); }, [&] { read_maximum(r); },
                           [&] { call(softmax, r, 1); }},
                          elements > (std::int64_t{1} << 20) ? 10 : 60);
  const std::vector<double> libm = interleaved_seconds({[&] { libm_softmax(r); }, [&] { libm_entropy(r); }}, 2);
  for (auto _ : state) ours();
  if (peer) state.counters["softmax_of_onednn"] = s[3] / s[0];
  state.counters["softmax_of_memcpy"] = s[4] / s[0];
  state.counters["softmax_of_libm"] = libm[0] / s[0];
  state.counters["entropy_of_read_max"] = s[5] / s[1];
  state.counters["entropy_of_libm"] = libm[1] / s[1];
  state.counters["adaptive_to_softmax"] = s[2] / s[6];
  state.counters["softmax_GiB/s"] = 2 * static_cast<double>(r.bytes()) / s[0] / (1 << 30);
}

// A row's bits are halves, in and out; ours against ours on f32, and against oneDNN's bf16 (which needs AVX-512).
void halves(benchmark::State& state, DLDataType type) {
  const softcheck_kernel softmax = kernel_of("softcheck_cpu_kernels", "softcheck_softmax");
  const softcheck_kernel onednn = kernel_of("softcheck_peer_onednn", "softcheck_onednn_softmax");
  Rows wide(state.range(0), std::int64_t{1} << 18);
  if (softmax == nullptr) {
    state.SkipWithError("not built here");
    return;
  }
  std::vector<std::uint16_t> logits(wide.logits.size()), probs(wide.logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    logits[i] = static_cast<std::uint16_t>(0x3c00 + i % 0x400);  // [1, 2) in f16, [2^-7, 2] in bf16
  }
  CallTensor in(logits.data(), type, {wide.rows, wide.n}), out(probs.data(), type, {wide.rows, wide.n});
  const DLTensor* inputs[] = {in.get()};
  DLTensor* outputs[] = {out.get()};
  const softcheck_call c = call_of(inputs, outputs);
  const bool peer = onednn != nullptr && onednn(&c) == 0;
  const std::vector<double> s = interleaved_seconds({[&] { softmax(&c); }, [&] { call(softmax, wide, 1); },
                                                     [&] {
                                                       if (peer) onednn(&c);
                                                     }},
                                                    60);
  for (auto _ : state) softmax(&c);
  state.counters["to_f32"] = s[0] / s[1];
  if (peer) state.counters["softmax_of_onednn"] = s[2] / s[0];
}

// Rows of seven large logits among many small ones, 1.95 nats or a little more: beta is above 1 at every length.
// backward_to_adaptive: the gradient's time over that of a forward call.
void sharp_rows(benchmark::State& state) {
  const softcheck_kernel softmax = kernel_of("softcheck_cpu_kernels", "softcheck_softmax");
  const softcheck_kernel adaptive = kernel_of("softcheck_cpu_kernels", "softcheck_adaptive_softmax");
  const softcheck_kernel backward = kernel_of("softcheck_cpu_kernels", "softcheck_adaptive_softmax_backward");
  Rows r(state.range(0), std::int64_t{1} << 18);
  if (softmax == nullptr || adaptive == nullptr || backward == nullptr) {
    state.SkipWithError("not built here");
    return;
  }
  for (std::size_t i = 0; i < r.logits.size(); ++i) {
    const auto place = static_cast<std::int64_t>(i) % r.n;
    r.logits[i] = place * 7 / r.n == (place + 1) * 7 / r.n ? r.logits[i] / 8 - 24 : 0.0F;
  }
  std::vector<float> incoming(r.logits.size()), gradient(r.logits.size());
  fill(incoming, 2);
  CallTensor x(r.logits.data(), {r.rows, r.n}), dp(incoming.data(), {r.rows, r.n}), dx(gradient.data(), {r.rows, r.n});
  const DLTensor* inputs[] = {x.get(), dp.get()};
  DLTensor* outputs[] = {dx.get()};
  const softcheck_call c = call_of(inputs, outputs);
  const std::vector<double> s =
      interleaved_seconds({[&] { call(softmax, r, 1); }, [&] { call(adaptive, r, 1); }, [&] { backward(&c); }}, 60);
  for (auto _ : state) backward(&c);
  state.counters["adaptive_to_softmax"] = s[1] / s[0];
  state.counters["backward_to_adaptive"] = s[2] / s[1];
}

BENCHMARK(sharp_rows)->Arg(128)->Arg(4096)->Arg(131072)->Iterations(1);
BENCHMARK_CAPTURE(halves, bf16, DLDataType{kDLBfloat, 16, 1})->Arg(128)->Arg(4096)->Iterations(1);
BENCHMARK_CAPTURE(halves, f16, DLDataType{kDLFloat, 16, 1})->Arg(128)->Arg(4096)->Iterations(1);

// 1 MiB of logits, in and out near a second-level cache; and 64 MiB, which no cache here holds.
BENCHMARK_CAPTURE(rows, cached, std::int64_t{1} << 18)->Arg(128)->Arg(4096)->Arg(131072)->Iterations(1);
BENCHMARK_CAPTURE(rows, memory, std::int64_t{1} << 24)->Arg(131072)->Iterations(1);

}  // namespace
}  // namespace softcheck::kernels::bench

// One thread each: by default oneDNN would start one for each core.
int main(int argc, char** argv) {
  setenv("OMP_NUM_THREADS", "1", 0);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
