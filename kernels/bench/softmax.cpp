// Row softmax, one thread: ours and oneDNN's against memcpy and a scalar loop over libm, read + write in bytes/s.
// Counters: of_memcpy, the share of memcpy's rate at the same size measured just before; of_libm, the gain over the
// loop.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "kernels/abi/softcheck_kernel.h"

namespace {

// Enough rows for 1 MiB of logits: in and out stay within a second-level cache of 2 MiB or near it.
constexpr std::int64_t elements = std::int64_t{1} << 18;

struct Problem {
  explicit Problem(std::int64_t columns) : n(columns), logits(elements), probs(elements) {
    std::uint32_t state = 1;
    for (float& x : logits) {
      state = state * 1664525u + 1013904223u;
      x = static_cast<float>(state >> 8) * 0x1p-20f;  // [0, 16): nothing underflows, nothing is skipped
    }
  }

  std::int64_t n;
  std::vector<float> logits;
  std::vector<float> probs;
};

void copy_rows(Problem& problem) { std::memcpy(problem.probs.data(), problem.logits.data(), elements * sizeof(float)); }

void libm_rows(Problem& problem) {
  for (std::int64_t begin = 0; begin < elements; begin += problem.n) {
    const float* x = problem.logits.data() + begin;
    float* p = problem.probs.data() + begin;
    const float m = *std::max_element(x, x + problem.n);
    float sum = 0;
    for (std::int64_t i = 0; i < problem.n; ++i) {
      p[i] = std::exp(x[i] - m);
      sum += p[i];
    }
    for (std::int64_t i = 0; i < problem.n; ++i) {
      p[i] /= sum;
    }
  }
}

int kernel_rows(softcheck_kernel kernel, int output_rank, Problem& problem) {
  std::int64_t shape[2] = {elements / problem.n, problem.n};
  const DLTensor in{problem.logits.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0};
  DLTensor out{problem.probs.data(), {kDLCPU, 0}, output_rank, {kDLFloat, 32, 1}, shape, nullptr, 0};
  const DLTensor* inputs[] = {&in};
  DLTensor* outputs[] = {&out};
  const softcheck_call call{SOFTCHECK_KERNEL_ABI_VERSION, 1, 1, inputs, outputs, 1.0, 1.0, 0, nullptr};
  return kernel(&call);
}

// The best of a few runs: what else the machine does only ever adds time.
double seconds_of(const std::function<void()>& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 15; ++run) {
    const auto start = std::chrono::steady_clock::now();
    work();
    benchmark::ClobberMemory();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

void measure(benchmark::State& state, const std::function<void(Problem&)>& rows) {
  Problem problem(state.range(0));
  const double copy = seconds_of([&] { copy_rows(problem); });
  const double libm = seconds_of([&] { libm_rows(problem); });
  const double own = seconds_of([&] { rows(problem); });
  for (auto _ : state) {
    rows(problem);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * elements * 2 * static_cast<std::int64_t>(sizeof(float)));
  state.counters["of_memcpy"] = copy / own;
  state.counters["of_libm"] = libm / own;
}

void measure_kernel(benchmark::State& state, const char* library, const char* symbol, int output_rank = 2) {
  void* handle = dlopen((std::string(SOFTCHECK_KERNEL_DIR) + "/lib" + library + ".so").c_str(), RTLD_NOW);
  auto* kernel = handle == nullptr ? nullptr : reinterpret_cast<softcheck_kernel>(dlsym(handle, symbol));
  if (kernel == nullptr) {
    state.SkipWithError("not built here");
    return;
  }
  Problem tried(state.range(0));
  if (kernel_rows(kernel, output_rank, tried) != 0) {
    state.SkipWithError("refused");
    return;
  }
  measure(state, [=](Problem& problem) { kernel_rows(kernel, output_rank, problem); });
}

void sizes(benchmark::internal::Benchmark* bench) { bench->Arg(128)->Arg(4096)->Arg(131072)->MinTime(0.2); }

BENCHMARK_CAPTURE(measure_kernel, softcheck, "softcheck_cpu_kernels", "softcheck_softmax")->Apply(sizes);
BENCHMARK_CAPTURE(measure_kernel, onednn, "softcheck_peer_onednn", "softcheck_onednn_softmax")->Apply(sizes);
BENCHMARK_CAPTURE(measure_kernel, softcheck_entropy, "softcheck_cpu_kernels", "softcheck_entropy", 1)->Apply(sizes);
BENCHMARK_CAPTURE(measure, memcpy, copy_rows)->Apply(sizes);
BENCHMARK_CAPTURE(measure, libm, libm_rows)->Apply(sizes);

}  // namespace

// One thread each: oneDNN would otherwise start as many as there are cores.
int main(int argc, char** argv) {
  setenv("OMP_NUM_THREADS", "1", 0);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
