// Merges of partial results, f32, dim 128, one thread: ours, a loop over libm as one would write it down, and a pass
// that reads the outputs and takes the maximum, taking turns. Counters as of the losses.
#include <benchmark/benchmark.h>

#include <cmath>

#include "kernels/bench/measure.hpp"
#include "kernels/bench/read_pass.hpp"

namespace softcheck::kernels::bench {
namespace {

constexpr std::int64_t merged_dim = 128;

struct Parts {
  Parts(std::int64_t count, std::int64_t elements)
      : parts(count),
        rows(elements / (count * merged_dim)),
        outputs(elements),
        lse(count * rows),
        out(rows * merged_dim),
        merged(rows) {
    fill(outputs, 1);
    fill(lse, 2);
  }

  std::int64_t parts, rows;
  std::vector<float> outputs, lse, out, merged;
};

int call_merge(softcheck_kernel kernel, Parts& p, bool base_2) {
  CallTensor outputs(p.outputs.data(), {p.parts, p.rows, merged_dim}), lse(p.lse.data(), {p.parts, p.rows}),
      out(p.out.data(), {p.rows, merged_dim}), merged(p.merged.data(), {p.rows});
  const DLTensor* inputs[] = {outputs.get(), lse.get()};
  DLTensor* results[] = {out.get(), merged.get()};
  const std::uint32_t roles[] = {SOFTCHECK_ROLE_OUT, SOFTCHECK_ROLE_LSE};
  softcheck_attributes attributes{};
  attributes.size = sizeof attributes;
  attributes.lse_base2 = base_2 ? 1 : 0;
  const softcheck_call_2 c = version_2_call(SOFTCHECK_OP_MERGE_STATES, inputs, roles, attributes, results);
  return kernel(&c.call);
}

void libm_merge(Parts& p, std::int64_t row) {
  float m = -std::numeric_limits<float>::infinity(), sum = 0;
  for (std::int64_t k = 0; k < p.parts; ++k) m = std::max(m, p.lse[static_cast<std::size_t>(k * p.rows + row)]);
  float* out = p.out.data() + row * merged_dim;
  std::fill(out, out + merged_dim, 0.0F);
  for (std::int64_t k = 0; k < p.parts; ++k) {
    const float weight = std::exp(p.lse[static_cast<std::size_t>(k * p.rows + row)] - m);
    const float* part = p.outputs.data() + (k * p.rows + row) * merged_dim;
    sum += weight;
    for (std::int64_t c = 0; c < merged_dim; ++c) out[c] += weight * part[c];
  }
  for (std::int64_t c = 0; c < merged_dim; ++c) out[c] /= sum;
  p.merged[static_cast<std::size_t>(row)] = m + std::log(sum);
}

void merges(benchmark::State& state, bool base_2, std::int64_t elements) {
  const softcheck_kernel kernel = kernel_of("softcheck_cpu_kernels", "softcheck_merge_states");
  Parts p(state.range(0), elements);
  if (kernel == nullptr || call_merge(kernel, p, base_2) != 0) {
    state.SkipWithError("not built here");
    return;
  }
  const std::vector<double> s =
      interleaved_seconds({[&] { call_merge(kernel, p, base_2); },
                           [&] {
                             for (std::int64_t row = 0; row < p.rows; ++row) libm_merge(p, row);
                           },
                           [&] { benchmark::DoNotOptimize(largest(p.outputs.data(), elements)); }},
                          elements > (std::int64_t{1} << 20) ? 10 : 60);
  for (auto _ : state) call_merge(kernel, p, base_2);
  state.counters["of_libm"] = s[1] / s[0];
  state.counters["of_read_max"] = s[2] / s[0];
  state.counters["GiB/s_read"] = static_cast<double>(p.outputs.size() * sizeof(float)) / s[0] / (1 << 30);
}

// 1 MiB of outputs, and 64 MiB, which no cache here holds.
constexpr std::int64_t merged_cached = std::int64_t{1} << 18, merged_memory = std::int64_t{1} << 24;

BENCHMARK_CAPTURE(merges, base_e_cached, false, merged_cached)->Arg(2)->Arg(8)->Arg(64)->Iterations(1);
BENCHMARK_CAPTURE(merges, base_2_cached, true, merged_cached)->Arg(8)->Iterations(1);
BENCHMARK_CAPTURE(merges, base_e_memory, false, merged_memory)->Arg(2)->Arg(8)->Arg(64)->Iterations(1);

}  // namespace
}  // namespace softcheck::kernels::bench
