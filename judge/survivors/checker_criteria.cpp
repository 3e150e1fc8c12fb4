// Tools that decide whether any kernel is right: what they draw and tolerate by default, as checkers.tsv says.
#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/survivors/attention_case.hpp"
#include "judge/survivors/published.hpp"
#include "judge/survivors/row_case.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;
using Rule = Comparison::Rule;

// The shapes of one and two dimensions of gpucheck's groups, but for the one without elements.
CriterionCases gpucheck(double tolerance) {
  return matrices({{1, 32},
                   {64, 64},
                   {1, 128},
                   {32, 32},
                   {256, 256},
                   {512, 512},
                   {1, 1024},
                   {128, 256},
                   {2048, 2048},
                   {4096, 4096},
                   {1, 8192},
                   {1, 1},
                   {1, 128},
                   {128, 1},
                   {7, 13},
                   {127, 127}},
                  normal(), allclose(tolerance, tolerance));
}

struct AttentionShape {
  std::int64_t batch, heads, queries, keys, dim;
  bool causal = false;
};

PublishedTensors tensors_of(const AttentionShape& shape, Format format) {
  return taken({.format = format,
                .batch = shape.batch,
                .heads = shape.heads,
                .queries = shape.queries,
                .keys = shape.keys,
                .dim = shape.dim,
                .scale = 1 / std::sqrt(static_cast<double>(shape.dim)),
                .causal = shape.causal});
}

CriterionCases attentions(std::vector<AttentionShape> shapes, Value value, Rules rules) {
  return [=](Draw& draw, const Criterion& criterion) {
    std::vector<CriterionCase> cases;
    for (const AttentionShape& shape : shapes) {
      cases.push_back(attention_case(
          tensors_of(shape, criterion.format), [&] { return value(draw); }, rules));
    }
    return cases;
  };
}

// test_sdpa_causal, whose mask is the causal one, test_sdpa_asymmetric_lengths and test_sdpa_non_power_of_2.
std::vector<AttentionShape> torchcts_shapes() {
  return {{2, 4, 32, 32, 16, true}, {1, 2, 1, 1, 16},         {1, 2, 1, 7, 16},         {1, 2, 1, 32, 16},
          {1, 2, 7, 7, 16},         {1, 2, 7, 32, 16},        {1, 2, 32, 32, 16},       {1, 2, 3, 3, 16, true},
          {1, 2, 7, 7, 16, true},   {1, 2, 15, 15, 16, true}, {1, 2, 33, 33, 16, true}, {1, 2, 65, 65, 16, true}};
}

// test_cross_entropy: 4 x 10, any labels.
std::vector<CriterionCase> torchcts_loss(Draw& draw, const Criterion& criterion) {
  LossBatch batch{.format = criterion.format, .rows = 4, .columns = 10};
  for (int row = 0; row < 4; ++row) batch.labels.push_back(static_cast<std::int64_t>(draw.below(10)));
  return {loss_case(
      batch, [&] { return 4 * draw.unit() - 2; }, allclose(1e-4, 1e-4))};
}

std::int64_t one_of(Draw& draw, const std::vector<std::int64_t>& candidates) {
  return candidates[draw.below(candidates.size())];
}

// A case takes one candidate of each dimension.
std::vector<CriterionCase> gpuemu(Draw& draw, const Criterion& criterion) {
  const auto value = [&] { return 20 * draw.unit() - 10; };
  std::vector<CriterionCase> cases;
  for (int i = 0; i < 100; ++i) {
    if (criterion.op == "attention") {
      const AttentionShape shape{1, 1, one_of(draw, {1, 2, 16}), one_of(draw, {1, 3, 16, 64, 256}),
                                 one_of(draw, {8, 16, 64})};
      cases.push_back(attention_case(tensors_of(shape, criterion.format), value, allclose(5e-2, 0)));
    } else {
      const std::int64_t rows = one_of(draw, {1, 2}) * one_of(draw, {1, 7});
      const std::int64_t columns = one_of(draw, {1, 3, 7, 256, 1025});
      cases.push_back(softmax_case(
          {.op = criterion.op, .format = criterion.format, .rows = rows, .columns = columns},
          [&](auto, auto) { return value(); }, allclose(2e-2, 0)));
    }
  }
  return cases;
}

// 200 arrays; a NaN makes its row NaN, and no row is masked as a whole.
CriterionCases hypothesis(double relative) {
  return [=](Draw& draw, const Criterion& criterion) {
    constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    std::vector<CriterionCase> cases;
    for (int i = 0; i < 200; ++i) {
      const std::int64_t rows = draw.between(1, 8), columns = draw.between(1, 256);
      std::vector<std::size_t> nans;
      const auto logit = [&](std::int64_t row, std::int64_t column) {
        if (draw.one_in(200)) nans.push_back(static_cast<std::size_t>(row * columns + column));
        if (column > 0 && draw.one_in(10)) return -infinity;
        return draw.one_in(2) ? 2e4 * draw.unit() - 1e4 : static_cast<double>(draw.between(-3, 3));
      };
      cases.push_back(softmax_case({.op = criterion.op, .format = criterion.format, .rows = rows, .columns = columns},
                                   logit, {{Rule::allclose_or_equal, 1e-6, relative}}));
      CriterionCase& next = cases.back();
      for (const std::size_t place : nans) {
        next.call.inputs[0].values[place] = nan;
        const std::size_t row = place / static_cast<std::size_t>(columns);
        std::fill_n(next.expected.begin() + static_cast<std::ptrdiff_t>(row * next.row_length), next.row_length, nan);
      }
    }
    return cases;
  };
}

// PyTorch's softmax without a fused kernel: floats in eight lanes, the results rounded to the format.
double error_of_eager(std::span<const double> logits, std::span<const double> exact, Format format) {
  const auto maximum = static_cast<float>(*std::ranges::max_element(logits));
  std::vector<float> exponentials;
  float lanes[8] = {};
  for (const double x : logits) {
    exponentials.push_back(std::exp(static_cast<float>(x) - maximum));
    lanes[exponentials.size() % 8] += exponentials.back();
  }
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  double largest = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double got = numerics::round_to(format, static_cast<double>(exponentials[i] / sum));
    largest = std::max(largest, std::fabs(got - exact[i]));
  }
  return largest;
}

// Twice the largest error of PyTorch in the same dtype, and what rounding the exact values costs.
CriterionCase torchtitan_case(CriterionCase next, Format format) {
  const std::vector<double>& logits = next.call.inputs[0].values;
  next.expected.clear();
  double eager = 0, rounding = 0;
  for (std::size_t first = 0; first < logits.size(); first += next.row_length) {
    const std::span<const double> row = std::span(logits).subspan(first, next.row_length);
    const std::vector<double> exact = exact_coefficients({row.begin(), row.end()});
    eager = std::max(eager, error_of_eager(row, exact, format));
    for (const double p : exact) rounding = std::max(rounding, std::fabs(numerics::round_to(format, p) - p));
    next.expected.insert(next.expected.end(), exact.begin(), exact.end());
  }
  next.comparisons = allclose(2 * eager + rounding, 0);
  return next;
}

std::vector<CriterionCase> torchtitan(Draw& draw, const Criterion& criterion) {
  std::vector<CriterionCase> cases;
  for (const double deviation : {1.0, 30.0}) {
    for (const auto [rows, columns] :
         {MatrixShape{1, 1}, {4, 127}, {4, 128}, {4, 129}, {4, 1023}, {4, 1025}, {16, 4096}, {2, 32768}}) {
      cases.push_back(torchtitan_case(softmax_case({.format = criterion.format, .rows = rows, .columns = columns},
                                                   [&](auto, auto) { return deviation * draw.normal(); }, {}),
                                      criterion.format));
    }
  }
  return cases;
}

std::vector<CriterionCase> torchtitan_attention(Draw& draw, const Criterion& criterion) {
  std::vector<CriterionCase> cases;
  for (const std::int64_t length : {1, 127, 129, 512}) {
    for (const bool causal : {false, true}) {
      const PublishedTensors tensors = tensors_of({2, 2, length, length, 64, causal}, criterion.format);
      CriterionCase next = attention_case(tensors, [&] { return draw.normal(); }, {});
      double largest = 0;
      for (const double value : next.expected) largest = std::max(largest, std::fabs(value));
      const double rounding = largest * numerics::properties(criterion.format).unit_roundoff;
      next.comparisons = allclose(2 * error_of_unfused(tensors, next) + rounding, 0);
      cases.push_back(std::move(next));
    }
  }
  return cases;
}

}  // namespace

std::vector<NamedCases> checker_cases() {
  const std::vector<AttentionShape> flashinfer_bench{
      {1, 32, 1, 2048, 128}, {1, 32, 128, 128, 128, true}, {4, 32, 512, 512, 128, true}};
  const std::vector<AttentionShape> tiles{{1, 2, 7, 13, 64},
                                          {1, 2, 127, 127, 64},
                                          {1, 2, 128, 128, 64, true},
                                          {2, 2, 129, 257, 64},
                                          {1, 2, 512, 512, 64, true}};
  // TorchBench's traces: hf_Albert, GPT-2, ViT and BERT; GPT-2's, Roberta's, XLNet's and ViT's losses.
  const std::vector<MatrixShape> traces{{49152, 512}, {49152, 1024}, {151296, 197}, {6144, 128}};
  const std::vector<MatrixShape> losses{{4, 2}, {508, 30522}, {2048, 32000}, {64, 1000}};
  return {{"torchtitan fp32", torchtitan},
          {"torchtitan bf16", torchtitan},
          {"torchtitan attention", torchtitan_attention},
          {"gpucheck fp32", gpucheck(1e-4)},
          {"gpucheck fp16", gpucheck(1e-2)},
          {"gpucheck bf16", gpucheck(5e-2)},
          {"gpucheck attention", attentions(tiles, normal(), allclose(1e-2, 1e-2))},
          {"TorchCTS fp32", matrices({{16, 32}}, uniform(-2, 2), allclose(1e-5, 1e-5))},
          {"TorchCTS fp16", matrices({{16, 32}}, uniform(-2, 2), allclose(1e-3, 1e-3))},
          {"TorchCTS bf16", matrices({{16, 32}}, uniform(-2, 2), allclose(1e-2, 1e-2))},
          {"TorchCTS log", matrices({{16, 32}}, uniform(-2, 2), allclose(1e-5, 1e-5))},
          {"TorchCTS loss", torchcts_loss},
          {"TorchCTS attention", attentions(torchcts_shapes(), uniform(-2, 2), allclose(2e-4, 2e-4))},
          {"FlashInfer-Bench",
           matrices(std::vector(3, MatrixShape{64, 128256}), normal(), {{Rule::larger_of_both, 1e-2, 1e-2}})},
          {"FlashInfer-Bench attention", attentions(flashinfer_bench, normal(), {{Rule::larger_of_both, 1e-2, 1e-2}})},
          {"BackendBench", matrices(traces, uniform(0, 1), allclose_of_got(1e-2, 1e-2))},
          {"BackendBench log", matrices(losses, uniform(0, 1), allclose_of_got(1e-2, 1e-2))},
          {"gpuemu", gpuemu},
          {"gpuemu attention", gpuemu},
          {"Hypothesis fp32", hypothesis(1e-5)},
          {"Hypothesis fp16", hypothesis(2e-3)},
          {"Hypothesis bf16", hypothesis(1.6e-2)},
          {"Hypothesis log", hypothesis(1e-5)},
          {"Hypothesis logsumexp", hypothesis(1e-5)}};
}

}  // namespace softcheck::proptests
