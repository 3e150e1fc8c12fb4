// Judging tensors: 2^25 f32 logits with softmax outputs, compared with the time of the filter alone; other ops, and
// exact values, on smaller tensors.
#include "judge/results/tensor_judge.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "numerics/filter/row_filter.hpp"

namespace {

using softcheck::numerics::Format;
using softcheck::proptests::GivenTensor;
using softcheck::proptests::Op;
using softcheck::proptests::ReportVerdict;
using softcheck::proptests::TensorTask;

constexpr std::size_t elements = std::size_t{1} << 25;

/// Rows of normally distributed logits, and their softmax from a simple kernel.
struct Sample {
  std::vector<float> logits, output;
  std::size_t n;

  explicit Sample(std::size_t columns) : logits(elements), output(elements), n(columns) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 3);
    // Drawing takes longer than judging: rows repeat one stretch of logits from different offsets.
    std::vector<float> drawn((std::size_t{1} << 20) + 4096);
    std::ranges::generate(drawn, [&] { return normal(random); });
    for (std::size_t first = 0, row = 0; first < elements; first += n, ++row) {
      for (std::size_t i = 0; i < n; ++i) logits[first + i] = drawn[(row * 7919 + i) % drawn.size()];
      const std::span<const float> of(logits.data() + first, n);
      const float top = *std::ranges::max_element(of);
      float sum = 0;
      for (const float logit : of) sum += std::exp(logit - top);
      for (std::size_t i = 0; i < n; ++i) output[first + i] = std::exp(of[i] - top) / sum;
    }
  }

  GivenTensor held(const std::vector<float>& numbers) const {
    const auto columns = static_cast<std::int64_t>(n), rows = static_cast<std::int64_t>(elements / n);
    return {reinterpret_cast<const std::byte*>(numbers.data()), Format::f32, {rows, columns}, {columns, 1}};
  }
};

void judge_a_tensor(benchmark::State& state) {
  const Sample sample(static_cast<std::size_t>(state.range(0)));
  const TensorTask task{.inputs = {sample.held(sample.logits)}};
  const std::vector<GivenTensor> outputs{sample.held(sample.output)};
  const auto contract = contract_for(task, "");
  for (auto _ : state) {
    const auto judgement = judge_tensors(task, contract, outputs);
    if (judgement.verdict != ReportVerdict::pass) state.SkipWithError("a right tensor did not pass");
    benchmark::DoNotOptimize(judgement.judged);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(elements));
}

/// The two passes over the logits that every judge needs, and the comparing pass.
void filter_alone(benchmark::State& state) {
  const Sample sample(static_cast<std::size_t>(state.range(0)));
  using namespace softcheck::numerics;
  const ElementTolerance tolerance = ElementTolerance::within_relative(1e-3, 0, 1e-30);
  for (auto _ : state) {
    for (std::size_t first = 0; first < elements; first += sample.n) {
      const std::span<const float> logits(sample.logits.data() + first, sample.n);
      const FilterStatistics statistics = filter_row(logits);
      benchmark::DoNotOptimize(
          filter_judge(logits, statistics, std::span<const float>(sample.output.data() + first, sample.n), tolerance));
    }
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(elements));
}

/// Reads and adds up both tensors.
void read_alone(benchmark::State& state) {
  const Sample sample(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    float sums[16] = {};
    for (std::size_t i = 0; i < elements; i += 16) {
      for (std::size_t k = 0; k < 16; ++k) sums[k] += sample.logits[i + k] + sample.output[i + k];
    }
    benchmark::DoNotOptimize(sums);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(elements));
}

constexpr std::size_t few = std::size_t{1} << 16, few_columns = 1024;

/// A task with few logits: its exact values, and the same rounded to f32.
struct FewRows {
  std::vector<float> logits, output;
  std::vector<double> lower, upper;
  TensorTask task;

  explicit FewRows(Op op) : logits(few) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 3);
    std::ranges::generate(logits, [&] { return normal(random); });
    task.op = op;
    task.inputs = {held(logits, few_columns)};
    const auto shape = output_shape(task);
    lower.resize(shape.size() == 1 ? few / few_columns : few);
    upper = lower;
  }
  static GivenTensor held(const std::vector<float>& numbers, std::size_t columns) {
    const auto n = static_cast<std::int64_t>(columns), rows = static_cast<std::int64_t>(numbers.size() / columns);
    return {reinterpret_cast<const std::byte*>(numbers.data()), Format::f32, {rows, n}, {n, 1}};
  }
  void write_reference() { reference(task, contract_for(task, ""), 0, lower, upper); }
};

void judge_op(benchmark::State& state, Op op) {
  FewRows sample(op);
  sample.write_reference();
  sample.output.assign(sample.lower.begin(), sample.lower.end());
  const std::vector<GivenTensor> outputs{FewRows::held(sample.output, sample.output.size() == few ? few_columns : 1)};
  const auto contract = contract_for(sample.task, "");
  for (auto _ : state) {
    const auto judgement = judge_tensors(sample.task, contract, outputs);
    if (judgement.verdict != ReportVerdict::pass) state.SkipWithError("a right tensor did not pass");
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(few));
}

void exact_values(benchmark::State& state, Op op) {
  FewRows sample(op);
  for (auto _ : state) sample.write_reference();
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(few));
}

constexpr std::int64_t heads = 2, length = 128, dim = 64;

/// Queries, keys and values are one tensor; items are outputs.
void exact_attention(benchmark::State& state) {
  std::vector<float> numbers(static_cast<std::size_t>(heads * length * dim));
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 1);
  std::ranges::generate(numbers, [&] { return normal(random); });
  GivenTensor tensor = FewRows::held(numbers, static_cast<std::size_t>(dim));
  tensor.shape = {heads, length, dim};
  tensor.strides = {length * dim, dim, 1};
  const TensorTask task{.op = Op::attention, .inputs = {tensor, tensor, tensor}, .scale = 0.125};
  const auto contract = contract_for(task, "");
  std::vector<double> lower(numbers.size()), upper(numbers.size());
  const bool judged = state.range(0) != 0;
  reference(task, contract, 0, lower, upper);
  const std::vector<float> output(lower.begin(), lower.end());
  GivenTensor out = tensor;
  out.first = reinterpret_cast<const std::byte*>(output.data());
  for (auto _ : state) {
    if (judged) {
      benchmark::DoNotOptimize(judge_tensors(task, contract, std::vector{out}).failed);
    } else {
      reference(task, contract, 0, lower, upper);
    }
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(numbers.size()));
}

BENCHMARK_CAPTURE(judge_op, log_softmax, Op::log_softmax)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(judge_op, logsumexp, Op::logsumexp)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(judge_op, entropy, Op::entropy)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(judge_op, adaptive_softmax, Op::adaptive_softmax)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(exact_values, softmax, Op::softmax)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(exact_values, log_softmax, Op::log_softmax)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(exact_values, adaptive_softmax, Op::adaptive_softmax)->Unit(benchmark::kMillisecond);
BENCHMARK(exact_attention)->ArgName("judged")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(judge_a_tensor)->Arg(128)->Arg(1024)->Arg(131072)->Unit(benchmark::kMillisecond);
BENCHMARK(filter_alone)->Arg(128)->Arg(1024)->Arg(131072)->Unit(benchmark::kMillisecond);
BENCHMARK(read_alone)->Arg(1024)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
