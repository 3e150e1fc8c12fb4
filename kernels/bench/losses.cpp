// Losses and gradients of rows, f32, one thread: ours, a loop over libm, and a pass that reads the logits and takes
// the maximum, taking turns. Counters are ratios of CPU times, each the least of several rounds: of_libm above 1 where
// ours is faster, of_read_max the share of the speed at which a core reads; to_softmax is the cost in calls of our
// softmax.
#include <benchmark/benchmark.h>

#include <cmath>

#include "kernels/bench/measure.hpp"
#include "kernels/bench/read_pass.hpp"

namespace softcheck::kernels::bench {
namespace {

// The tensors of every op: x is the logits or the saved output.
struct LossRows {
  LossRows(std::int64_t columns, std::int64_t elements)
      : n(columns), rows(elements / columns), x(elements), g(elements), out(elements), of_rows(rows), upstream(rows) {
    fill(x, 1);
    fill(g, 2);
    fill(upstream, 3);
    for (std::int64_t r = 0; r < rows; ++r) labels.push_back(r * 7919 % n);
  }

  std::int64_t n, rows;
  std::vector<float> x, g, out, of_rows, upstream;
  std::vector<std::int64_t> labels;
};

bool is_mean(softcheck_op op) {
  return op == SOFTCHECK_OP_CROSS_ENTROPY_MEAN || op == SOFTCHECK_OP_CROSS_ENTROPY_MEAN_BACKWARD;
}

int call_loss(softcheck_kernel kernel, softcheck_op op, LossRows& rows) {
  const bool saved = op == SOFTCHECK_OP_SOFTMAX_BACKWARD || op == SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD;
  const bool by_row = op == SOFTCHECK_OP_CROSS_ENTROPY || op == SOFTCHECK_OP_CROSS_ENTROPY_MEAN;
  const bool backward = op == SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD || op == SOFTCHECK_OP_CROSS_ENTROPY_MEAN_BACKWARD;
  const std::int64_t of_rows = is_mean(op) ? 1 : rows.rows;
  CallTensor x(rows.x.data(), {rows.rows, rows.n}), g(rows.g.data(), {rows.rows, rows.n}),
      labels(rows.labels.data(), {rows.rows}), upstream(rows.upstream.data(), {of_rows}),
      losses(rows.of_rows.data(), {of_rows}), gradients(rows.out.data(), {rows.rows, rows.n});
  const DLTensor* inputs[] = {x.get(), saved ? g.get() : labels.get(), upstream.get()};
  const std::uint32_t of_logits[] = {SOFTCHECK_ROLE_LOGITS, SOFTCHECK_ROLE_LABELS, SOFTCHECK_ROLE_UPSTREAM};
  const std::uint32_t of_saved[] = {SOFTCHECK_ROLE_SAVED, SOFTCHECK_ROLE_OUT_GRADIENT};
  DLTensor* outputs[] = {by_row ? losses.get() : gradients.get()};
  softcheck_attributes attributes{};
  attributes.size = sizeof attributes;
  attributes.ignore_index = -100;
  attributes.mean = is_mean(op) ? 1 : 0;
  const softcheck_call_2 c =
      version_2_call(op, {inputs, backward ? 3u : 2u}, saved ? of_saved : of_logits, attributes, outputs);
  return kernel(&c.call);
}

int call_softmax(softcheck_kernel kernel, LossRows& rows) {
  CallTensor x(rows.x.data(), {rows.rows, rows.n}), out(rows.out.data(), {rows.rows, rows.n});
  const DLTensor* inputs[] = {x.get()};
  DLTensor* outputs[] = {out.get()};
  const softcheck_call c = call_of(inputs, outputs);
  return kernel(&c);
}

// One row of each op, as one would write it down.
void libm_row(softcheck_op op, LossRows& rows, std::int64_t r) {
  const float* x = rows.x.data() + r * rows.n;
  const float* g = rows.g.data() + r * rows.n;
  float* out = rows.out.data() + r * rows.n;
  const auto row = static_cast<std::size_t>(r);
  float sum = 0;
  if (op == SOFTCHECK_OP_SOFTMAX_BACKWARD || op == SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD) {
    const bool logs = op == SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD;
    for (std::int64_t i = 0; i < rows.n; ++i) sum += logs ? g[i] : x[i] * g[i];
    for (std::int64_t i = 0; i < rows.n; ++i) out[i] = logs ? g[i] - std::exp(x[i]) * sum : x[i] * (g[i] - sum);
    return;
  }
  const std::int64_t label = rows.labels[row];
  const float m = *std::max_element(x, x + rows.n);
  if (op == SOFTCHECK_OP_CROSS_ENTROPY || op == SOFTCHECK_OP_CROSS_ENTROPY_MEAN) {
    for (std::int64_t i = 0; i < rows.n; ++i) sum += std::exp(x[i] - m);
    rows.of_rows[row] = std::log(sum) + (m - x[label]);
    return;
  }
  for (std::int64_t i = 0; i < rows.n; ++i) {
    out[i] = std::exp(x[i] - m);
    sum += out[i];
  }
  const float factor = is_mean(op) ? rows.upstream[0] / static_cast<float>(rows.rows) : rows.upstream[row];
  for (std::int64_t i = 0; i < rows.n; ++i) out[i] = factor * (out[i] / sum - (i == label ? 1.0F : 0.0F));
}

// All rows, and of the mean their mean.
void libm_rows(softcheck_op op, LossRows& rows) {
  for (std::int64_t row = 0; row < rows.rows; ++row) libm_row(op, rows, row);
  if (op == SOFTCHECK_OP_CROSS_ENTROPY_MEAN) {
    float sum = 0;
    for (const float loss : rows.of_rows) sum += loss;
    rows.of_rows[0] = sum / static_cast<float>(rows.rows);
  }
}

void losses(benchmark::State& state, softcheck_op op, const char* symbol, std::int64_t elements) {
  const softcheck_kernel kernel = kernel_of("softcheck_cpu_kernels", symbol);
  const softcheck_kernel softmax = kernel_of("softcheck_cpu_kernels", "softcheck_softmax");
  LossRows r(state.range(0), elements);
  if (op == SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD) {
    for (float& y : r.x) {
      y -= 17;  // logarithms of coefficients
    }
  }
  if (kernel == nullptr || softmax == nullptr || call_loss(kernel, op, r) != 0) {
    state.SkipWithError("not built here");
    return;
  }
  const std::vector<double> s = interleaved_seconds({[&] { call_loss(kernel, op, r); },
                                                     [&] {
                                                       for (std::int64_t row = 0; row < r.rows; ++row) {
                                                         r.of_rows[static_cast<std::size_t>(row)] =
                                                             largest(r.x.data() + row * r.n, r.n);
                                                       }
                                                     },
                                                     [&] { call_softmax(softmax, r); }},
                                                    elements > (std::int64_t{1} << 20) ? 10 : 60);
  const std::vector<double> libm = interleaved_seconds({[&] { libm_rows(op, r); }}, 2);
  for (auto _ : state) call_loss(kernel, op, r);
  state.counters["of_libm"] = libm[0] / s[0];
  state.counters["of_read_max"] = s[1] / s[0];
  state.counters["to_softmax"] = s[0] / s[2];
  state.counters["GiB/s_read"] = static_cast<double>(r.x.size() * sizeof(float)) / s[0] / (1 << 30);
}

// 1 MiB of logits, and 64 MiB, which no cache here holds.
constexpr std::int64_t cached = std::int64_t{1} << 18, memory = std::int64_t{1} << 24;

#define SOFTCHECK_LOSS(name, op)                                           \
  BENCHMARK_CAPTURE(losses, name##_cached, op, "softcheck_" #name, cached) \
      ->Arg(128)                                                           \
      ->Arg(4096)                                                          \
      ->Arg(131072)                                                        \
      ->Iterations(1);                                                     \
  BENCHMARK_CAPTURE(losses, name##_memory, op, "softcheck_" #name, memory)->Arg(131072)->Iterations(1)

SOFTCHECK_LOSS(cross_entropy, SOFTCHECK_OP_CROSS_ENTROPY);
SOFTCHECK_LOSS(cross_entropy_backward, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD);
SOFTCHECK_LOSS(cross_entropy_mean, SOFTCHECK_OP_CROSS_ENTROPY_MEAN);
SOFTCHECK_LOSS(cross_entropy_mean_backward, SOFTCHECK_OP_CROSS_ENTROPY_MEAN_BACKWARD);
SOFTCHECK_LOSS(softmax_backward, SOFTCHECK_OP_SOFTMAX_BACKWARD);
SOFTCHECK_LOSS(log_softmax_backward, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD);

#undef SOFTCHECK_LOSS

}  // namespace
}  // namespace softcheck::kernels::bench
