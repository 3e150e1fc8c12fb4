// A linear layer's loss and its gradient: exact values by two routes, simulated kernels, ignored rows, and calls.
#include "judge/ops/attention/linear_loss.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>

#include "judge/inference/contract_inference.hpp"
#include "judge/ops/attention/attention_rows.hpp"
#include "judge/trial/attention_coverage.hpp"
#include "judge/trial/kernel_judgement.hpp"
#include "numerics/oracles/cross_entropy.hpp"
#include "proptests/generators/attention/linear_case.hpp"
#include "proptests/tests/judge/attention_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

struct Layer {
  std::vector<double> hidden, weight, upstream;
  LinearCall call;

  Layer(std::size_t rows, std::size_t classes, std::size_t dim, std::uint64_t seed, Format format, double size) {
    std::mt19937_64 engine(seed);
    std::normal_distribution<double> normal;
    const auto fill = [&](std::vector<double>& to, std::size_t count, double by) {
      for (std::size_t k = 0; k < count; ++k) to.push_back(round_to(format, by * normal(engine)));
    };
    fill(hidden, rows * dim, size);
    fill(weight, classes * dim, 1);
    fill(upstream, rows, 1);
    call = {classes, dim, hidden, weight, {}, upstream};
    for (std::size_t i = 0; i < rows; ++i) {
      call.labels.push_back(i % 5 == 4 ? std::nullopt : std::optional<std::size_t>(engine() % classes));
    }
  }
};

// A kernel of single precision that stores logits and dS in formats of its own.
struct Kernel {
  Format logits = Format::f32, ds = Format::f32;
  bool backwards = false, upstream_first = false;

  static float stored(Format format, float x) { return static_cast<float>(round_to(format, x)); }
  std::vector<float> scores(const LinearCall& call, std::size_t i) const {
    std::vector<float> x;
    for (std::size_t j = 0; j < call.classes; ++j) {
      float sum = 0;
      for (std::size_t k = 0; k < call.dim; ++k) {
        const std::size_t t = backwards ? call.dim - 1 - k : k;
        sum += static_cast<float>(call.hidden[i * call.dim + t]) * static_cast<float>(call.weight[j * call.dim + t]);
      }
      x.push_back(stored(logits, sum));
    }
    return x;
  }
  AttentionOp::Outputs loss(const LinearCall& call) const {
    AttentionOp::Outputs got(1);
    for (std::size_t i = 0; i < call.rows(); ++i) {
      if (!call.labels[i]) got[0].push_back(0);
      if (!call.labels[i]) continue;
      const std::vector<float> x = scores(call, i);
      const float m = *std::ranges::max_element(x);
      float s = 0;
      for (const float v : x) s += std::exp(v - m);
      got[0].push_back(std::log(s) + (m - x[*call.labels[i]]));
    }
    return got;
  }
  AttentionOp::Outputs gradient(const LinearCall& call, Format output) const {
    std::vector<float> dh(call.rows() * call.dim), dw(call.classes * call.dim);
    for (std::size_t i = 0; i < call.rows(); ++i) {
      if (!call.labels[i]) continue;
      const std::vector<float> x = scores(call, i);
      const float m = *std::ranges::max_element(x), g = static_cast<float>(call.upstream[i]);
      float s = 0;
      for (const float v : x) s += std::exp(v - m);
      for (std::size_t j = 0; j < call.classes; ++j) {
        const float p = std::exp(x[j] - m) / s, hit = j == *call.labels[i] ? 1 : 0;
        const float each = stored(ds, upstream_first ? g * p - g * hit : g * (p - hit));
        for (std::size_t t = 0; t < call.dim; ++t) {
          dh[i * call.dim + t] += each * static_cast<float>(call.weight[j * call.dim + t]);
          dw[j * call.dim + t] += each * static_cast<float>(call.hidden[i * call.dim + t]);
        }
      }
    }
    AttentionOp::Outputs got(2);
    for (const float x : dh) got[0].push_back(round_to(output, x));
    for (const float x : dw) got[1].push_back(round_to(output, x));
    return got;
  }
};

// The findings of all results, and the largest share of a threshold.
struct Judged {
  std::size_t values = 0, broken = 0;
  double share = 0;

  void add(const RowVerdicts& verdicts) {
    for (const ValueFinding& finding : verdicts.findings) {
      ++values;
      broken += finding.decision == Decision::proved ? 0 : 1;
      if (finding.threshold > 0 && finding.decision == Decision::proved) {
        share = std::max(share, finding.share());
      }
    }
  }
};

Judged judged_losses(const AttentionTask& task, const LinearCall& call, const AttentionOp::Outputs& got) {
  Judged all;
  LinearLosses losses(task, call);
  for (std::size_t i = 0; i < call.rows(); ++i) all.add(losses.judge(i, got[0][i]));
  return all;
}

Judged judged_gradients(const AttentionTask& task, const LinearCall& call, const AttentionOp::Outputs& got) {
  Judged all;
  const LinearGradient gradient(call);
  const auto add = [&](std::size_t, const RowVerdicts& verdicts) { all.add(verdicts); };
  judge_attention_gradient(LinearGradient::task(task), gradient.group(), {got[0], got[1], {}}, add, add);
  return all;
}

TEST(LinearLoss, BothRoutesAgree) {
  const PrecisionScope precision(256);
  const AttentionTask task = attention_task(Op::linear_cross_entropy);
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    Layer layer(6, 9, 3, seed, Format::f32, 1);
    for (std::vector<double>* numbers : {&layer.hidden, &layer.weight}) {
      for (double& x : *numbers) x = std::round(4 * x) / 4;  // exact products
    }
    const LinearCall& call = layer.call;
    std::vector<Enclosure> dweight(call.classes * call.dim);
    std::vector<double> lower(call.hidden.size()), upper = lower, least(dweight.size()), most = least;
    const LinearGradient gradient(call);
    const AttentionTask backward = LinearGradient::task(attention_task(Op::linear_cross_entropy_backward));
    exact_attention_gradient(backward, gradient.group(), GradientPart::queries, lower, upper);
    exact_attention_gradient(backward, gradient.group(), GradientPart::keys, least, most);
    const LinearLosses losses(task, call);
    for (std::size_t i = 0; i < call.rows(); ++i) {
      std::vector<double> logits(call.classes, 0.0);
      for (std::size_t k = 0; k < call.classes * call.dim; ++k) {
        logits[k / call.dim] += call.hidden[i * call.dim + k % call.dim] * call.weight[k];
      }
      if (!call.labels[i]) {
        EXPECT_EQ(losses.exact(i).upper_double(), 0);
        continue;
      }
      const CrossEntropyOracle oracle(logits, *call.labels[i]);
      EXPECT_TRUE(losses.exact(i).overlaps(oracle.loss()));
      for (std::size_t t = 0; t < call.dim; ++t) {
        Enclosure sum;
        for (std::size_t j = 0; j < call.classes; ++j) {
          const Enclosure ds = oracle.gradient(j, Enclosure(call.upstream[i]));
          sum += ds * Enclosure(call.weight[j * call.dim + t]);
          dweight[j * call.dim + t] += ds * Enclosure(call.hidden[i * call.dim + t]);
        }
        EXPECT_TRUE(Enclosure::between(lower[i * call.dim + t], upper[i * call.dim + t]).overlaps(sum));
      }
    }
    for (std::size_t k = 0; k < dweight.size(); ++k) {
      EXPECT_TRUE(Enclosure::between(least[k], most[k]).overlaps(dweight[k])) << k;
    }
  }
}

TEST(LinearLoss, SimulatedKernelsStayWithinTheBounds) {
  struct Case {
    Format inputs;
    const char* words;
    Kernel kernel;
  };
  const Case cases[] = {
      {Format::f32, "acc=f32 exp=1ulp sum=sequential", {}},
      {Format::f32, "acc=f32 exp=1ulp sum=sequential", {.backwards = true, .upstream_first = true}},
      {Format::bf16, "acc=f32 exp=1ulp sum=sequential", {.upstream_first = true}},
      {Format::bf16, "acc=f32 exp=1ulp sum=sequential scores=bf16 ds=bf16", {Format::bf16, Format::bf16}},
      {Format::f16, "acc=f32 exp=1ulp sum=sequential ds=f16", {.ds = Format::f16}}};
  for (const auto& [inputs, words, kernel] : cases) {
    double of_losses = 0, of_gradients = 0;
    for (const double size : {0.0, 1.0 / 16, 1.0, 4.0}) {
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const Layer layer(10, 40, 12, seed, inputs, size);
        const AttentionTask forward{Op::linear_cross_entropy, parse_contract(words, inputs, Format::f32), Format::f32},
            backward{Op::linear_cross_entropy_backward, parse_contract(words, inputs, inputs), Format::f32};
        const Judged losses = judged_losses(forward, layer.call, kernel.loss(layer.call));
        const Judged gradients = judged_gradients(backward, layer.call, kernel.gradient(layer.call, inputs));
        EXPECT_EQ(losses.broken, 0u) << words;
        EXPECT_EQ(gradients.broken, 0u) << words;
        EXPECT_EQ(losses.values, 10u);
        EXPECT_EQ(gradients.values, 50u);
        of_losses = std::max(of_losses, losses.share);
        of_gradients = std::max(of_gradients, gradients.share);
      }
    }
    EXPECT_GT(of_losses, 0.02) << words;
    EXPECT_GT(of_gradients, 0.05) << words;
  }
}

TEST(LinearLoss, NarrowLogitsAndGradientsNeedTheirWords) {
  const Layer layer(10, 40, 12, 1, Format::f32, 1);
  const char* const words = "acc=f32 exp=1ulp sum=sequential";
  const AttentionTask forward{Op::linear_cross_entropy, parse_contract(words, Format::f32, Format::f32), Format::f32},
      backward{Op::linear_cross_entropy_backward, forward.contract, Format::f32};
  EXPECT_GT(judged_losses(forward, layer.call, Kernel{.logits = Format::bf16}.loss(layer.call)).broken, 5u);
  const AttentionOp::Outputs narrow = Kernel{.ds = Format::bf16}.gradient(layer.call, Format::f32);
  EXPECT_GT(judged_gradients(backward, layer.call, narrow).broken, 40u);
}

TEST(LinearLoss, AnIgnoredRowIsZeroAndAddsNothing) {
  Layer layer(5, 4, 3, 7, Format::f32, 1);
  const AttentionTask task = attention_task(Op::linear_cross_entropy_backward);
  const AttentionOp::Outputs right = Kernel{}.gradient(layer.call, Format::f32);
  for (std::size_t t = 0; t < 3; ++t) layer.hidden[4 * 3 + t] = nan;
  EXPECT_EQ(judged_gradients(task, layer.call, right).broken, 0u);
  AttentionOp::Outputs wrong = right;
  wrong[0][4 * 3] = 0x1p-100;
  EXPECT_EQ(judged_gradients(task, layer.call, wrong).broken, 1u);
  AttentionOp::Outputs loss = Kernel{}.loss(layer.call);
  EXPECT_EQ(judged_losses(attention_task(Op::linear_cross_entropy), layer.call, loss).broken, 0u);
  loss[0][4] = nan;
  EXPECT_EQ(judged_losses(attention_task(Op::linear_cross_entropy), layer.call, loss).broken, 1u);
}

TEST(LinearLoss, CallsHaveLabelsOfEveryKindThatStayWithTheirRows) {
  for (const Op op : {Op::linear_cross_entropy, Op::linear_cross_entropy_backward}) {
    const AttentionOp& of = op.attention_op();
    AttentionOptions options = small_attention(40);
    options.gradients = op == Op::linear_cross_entropy_backward;
    for (const char* words : {"", "noignored"}) {
      options.domain = of.narrowed(parse_domain(words, true));
      std::size_t ignored = 0, first = 0, last = 0, other = 0;
      for (const AttentionCase& drawn : drawn_attention(options, 60, 5, 100)) {
        const AttentionCase a = of.completed(read_back(drawn));
        const TensorCall call = of.call(attention_task(op), a);
        EXPECT_EQ(call.inputs.size(), op->inputs.size());
        EXPECT_EQ(call.scale, 1);
        const std::vector<double>& labels = call.inputs[2].values;
        const auto classes = static_cast<double>(a.shape.keys);
        for (std::size_t i = 0; i < labels.size(); ++i) {
          EXPECT_TRUE(labels[i] == usual_ignore_index || is_item(labels[i], a.shape.keys));
          ++(labels[i] < 0 ? ignored : labels[i] == 0 ? first : labels[i] == classes - 1 ? last : other);
          const std::optional<AttentionCase> alone = query_alone(a, 0, 0, i);
          ASSERT_TRUE(alone);
          EXPECT_EQ(of.call(attention_task(op), *alone).inputs[2].values[0], labels[i]);
        }
      }
      EXPECT_EQ(ignored > 10, *words == 0);
      EXPECT_EQ(ignored == 0, *words != 0);
      EXPECT_GT(std::min({first, last, other}), 20u);
    }
  }
  EXPECT_THROW(domain_of("noignored", Op::attention), std::invalid_argument);
  EXPECT_THROW(domain_of("softcap", Op::linear_cross_entropy), std::invalid_argument);
}

TEST(LinearLoss, TheProbesOfOneHiddenStateHaveLabelsOfEveryKind) {
  std::set<std::int64_t> labels;
  for (int weight = 0; weight < 32; ++weight) {
    AttentionCase a;
    a.shape.keys = 4;
    a.queries = {1};
    a.keys = {static_cast<double>(weight), 0, 1, 2};
    labels.insert(label_of_row(a, 0));
  }
  EXPECT_GE(labels.size(), 4u);
}

TEST(LinearLoss, ACaseNamesItsTensorsAndTheirShapes) {
  for (const Op op : {Op::linear_cross_entropy, Op::linear_cross_entropy_backward}) {
    AttentionOptions options = small_attention(9);
    options.gradients = op == Op::linear_cross_entropy_backward;
    options.domain = op.attention_op().narrowed({});
    for (const AttentionCase& drawn : drawn_attention(options, 30, 3, 100)) {
      const AttentionShape& s = drawn.shape;
      const std::string rows = std::to_string(s.queries), dim = "x" + std::to_string(s.dim), text = to_text(drawn);
      EXPECT_EQ(text.rfind("linear f32 hidden=" + rows + dim + " weight=" + std::to_string(s.keys) + dim +
                               " labels=" + rows + (options.gradients ? " upstream=" + rows : "") + " layout=",
                           0),
                0u)
          << text;
      EXPECT_EQ(text, to_text(read_back(drawn)));
      EXPECT_TRUE(admits(options, read_back(drawn)));
      EXPECT_THAT(describe_call(drawn, "").text(), ::testing::StartsWith("linear f32 hidden=" + rows + dim));
    }
  }
  const std::string text = "linear f32 hidden=1x2 weight=3x2 labels=1 layout=0 hidden 1 2 weight 0 1 2 3 4 5 labels ";
  AttentionCase read;
  std::string message;
  int taken = 0;
  for (const char* label : {"0", "1", "2", "-100"}) {
    try {
      from_text(text + label, read);
      ++taken;
    } catch (const std::invalid_argument& error) {
      message = error.what();
    }
  }
  EXPECT_EQ(taken, 1);
  EXPECT_THAT(message, ::testing::HasSubstr("need the labels that follow from the numbers"));
  for (const char* wrong :
       {"linear f32", "linear f32 hidden=1x2 weight=3x1 labels=1 layout=0 hidden 1 2 weight 0*6 labels 0",
        "linear f32 hidden=1x2 weight=3x2 labels=2 layout=0 hidden 1 2 weight 0*6 labels 0 0"}) {
    EXPECT_THROW(from_text(wrong, read), std::invalid_argument) << wrong;
  }
}

TEST(LinearLoss, CoverageHasTheLayoutsOfItsOwnOutputs) {
  std::string names;
  for (const Coverage::Entry& entry : attention_coverage(Op::linear_cross_entropy_backward).entries()) {
    names += entry.dimension + '\n';
  }
  EXPECT_THAT(names, ::testing::HasSubstr("layout of dweight"));
  EXPECT_THAT(names, ::testing::Not(::testing::HasSubstr("layout of entropy")));
}

// Labelled full: LinearLoss.WhatAKernelStoresIsInferred
TEST(LinearLoss, WhatAKernelStoresIsInferred) {
  const Op loss = Op::linear_cross_entropy, gradient = Op::linear_cross_entropy_backward;
  JudgeOptions options = quick_options({}, 40);
  const auto inferred = [&](const char* symbol, Op op, Format format) {
    return infer_contract(zoo_subject(symbol, {.op = op, .format = format}), options);
  };
  const Inference plain = inferred("correct_linear_cross_entropy", loss, Format::f32);
  ASSERT_TRUE(plain.contract) << plain.failure;
  EXPECT_TRUE(plain.grade.is_own());
  const Inference stored = inferred("correct_linear_cross_entropy_bf16_logits", loss, Format::bf16);
  ASSERT_TRUE(stored.contract) << stored.failure;
  EXPECT_EQ(stored.contract->scores, Format::bf16);
  EXPECT_EQ(stored.verdict(), ReportVerdict::pass) << stored.summary();
  // Pairs show what is stored where their labels differ.
  const Inference slopes = inferred("correct_linear_cross_entropy_backward_bf16_slopes", gradient, Format::bf16);
  ASSERT_TRUE(slopes.contract) << slopes.failure;
  EXPECT_EQ(slopes.contract->score_gradients, Format::bf16);
  EXPECT_NE(slopes.verdict(), ReportVerdict::fail) << slopes.summary();
  EXPECT_FALSE(inferred("mutant_linear_cross_entropy_label_in_another_chunk", loss, Format::f32).contract);
}

}  // namespace
}  // namespace softcheck::proptests
