// The gradient by attention's bias: what a call asks for, and what the judge sums.
#include "judge/ops/attention/bias_gradient.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "judge/ops/attention/attention_op.hpp"
#include "judge/ops/attention/attention_rows.hpp"
#include "judge/trial/kernel_judgement.hpp"
#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

AttentionTask bias_task(Format format) {
  AttentionTask task;
  task.op = Op::attention_backward;
  task.contract = parse_contract("masked=zero", format, format);
  task.scalars = wide_format(format);
  return task;
}

// The first claim that does not hold; empty where all do.
std::string broken_claim(const AttentionCase& a, const std::vector<double>& got, std::size_t* rows = nullptr) {
  std::string broken;
  judge_bias_gradient(bias_task(Format::f32), a, got, {},
                      [&](std::size_t, std::size_t, std::size_t, const RowVerdicts& verdicts) {
                        if (rows != nullptr) ++*rows;
                        for (const ValueFinding& finding : verdicts.findings) {
                          if (broken.empty() && finding.decision != Decision::proved) broken = finding.claim;
                        }
                      });
  return broken;
}

// One query of scores 0 and two keys: p = 1/2, and p (g - delta) is -dO and dO times a quarter of the values' distance.
AttentionCase two_heads(bool shared) {
  AttentionCase a;
  a.shape = {1, 1, 2, 1, 2, 1, 1};
  a.queries = {0, 0};
  a.keys = {0, 0};
  a.values = {1, 3};
  a.gradients = {1, 4};
  a.attributes.bias_for_each_head = !shared;
  a.attributes.bias.assign(shared ? 2 : 4, 0);
  a.outputs = 3;
  return a;
}

TEST(BiasGradient, IsAskedForByItsWord) {
  EXPECT_THROW(domain_of("dbias", Op::attention), std::invalid_argument);
  const Domain asking = domain_of("dbias alibi", Op::attention_backward);
  EXPECT_TRUE(asking.bias);
  EXPECT_EQ(parse_domain(to_string(asking), true), asking);
  for (const auto& [words, asked] : {std::pair{"dbias", true}, std::pair{"bias", false}}) {
    AttentionOptions options;
    options.max_keys = options.long_keys = 20;
    options.max_work = 256;
    options.gradients = options.attributes = true;
    options.domain = parse_domain(words, true);
    options.format = Format::bf16;
    const auto generator = attention_cases(options);
    rc::Random random(3);
    for (int i = 0; i < 10; ++i) {
      const AttentionCase a = generator(random.split(), 100).value();
      ASSERT_FALSE(a.attributes.bias.empty());
      const TensorCall call = Op::attention_backward.attention_op().call(bias_task(Format::bf16), a);
      ASSERT_EQ(call.outputs.size(), asked ? 4u : 3u);
      EXPECT_TRUE(admits(options, a));
      if (!asked) continue;
      EXPECT_EQ(call.outputs[3].place.shape, call.inputs.back().place.shape);
      EXPECT_EQ(call.outputs[3].place.format, Format::bf16);
      AttentionCase fewer = a;
      fewer.outputs = 1;  // no call of the domain
      EXPECT_FALSE(admits(options, fewer));
    }
  }
}

TEST(BiasGradient, BothAreAskedForByBothWords) {
  AttentionCase a = two_heads(false);
  a.attributes.sinks = {0, 0};
  for (const auto& [outputs, count] : {std::pair{1, 3u}, std::pair{2, 4u}, std::pair{3, 4u}, std::pair{4, 5u}}) {
    a.outputs = outputs;
    EXPECT_EQ(Op::attention_backward.attention_op().call(bias_task(Format::f32), a).outputs.size(), count);
    AttentionCase read;
    from_text(to_text(a), read);
    EXPECT_EQ(read, a);
  }
}

TEST(BiasGradient, HeadsThatShareABiasAreSummed) {
  std::size_t rows = 0;
  EXPECT_EQ(broken_claim(two_heads(false), {-0.5, 0.5, -2, 2}, &rows), "");
  EXPECT_EQ(rows, 2u);
  EXPECT_EQ(broken_claim(two_heads(true), {-2.5, 2.5}), "");
  EXPECT_EQ(broken_claim(two_heads(true), {-2, 2}), "kernel.attention_backward.dbias");
  EXPECT_EQ(broken_claim(two_heads(false), {-0.5, 0.5, -2, -2}), "kernel.attention_backward.dbias");
  EXPECT_EQ(place_of(two_heads(false), bias_number(two_heads(false), 0, 1, 0)), " at batch=0 bias head=1 query=0");
}

TEST(BiasGradient, AKeyThatNoHeadSeesHasNone) {
  AttentionCase a = two_heads(true);
  a.mask = {1, 0, 1, 0};  // of both heads
  EXPECT_EQ(broken_claim(a, {0, 0}), "");
  EXPECT_EQ(broken_claim(a, {0, 0x1p-149}), "kernel.masked_row");
  a.mask = {1, 0, 1, 1};  // the second head sees it
  EXPECT_EQ(broken_claim(a, {-2, 2}), "");
  a.mask = {0, 0, 0, 0};
  EXPECT_EQ(broken_claim(a, {0, 0}), "");
  EXPECT_EQ(broken_claim(a, {1, 0}), "kernel.masked_row");
}

// A score of 2 under a softcap of 1 is tanh 2, whose slope is 0.07: a bias stands behind it.
TEST(BiasGradient, ASoftcapHasNoPartInIt) {
  AttentionCase a = two_heads(true);
  a.shape.group = 1;
  a.queries = {1};
  a.keys = {0, 2};
  a.gradients = {1};
  a.attributes.softcap = 1;
  const double weight = 1 / (1 + std::exp(-std::tanh(2.0))), gradient = 2 * weight * (1 - weight);
  const double slope = 1 - std::tanh(2.0) * std::tanh(2.0);
  const auto both = [](double x) { return std::vector{-round_to(Format::f32, x), round_to(Format::f32, x)}; };
  EXPECT_EQ(broken_claim(a, both(gradient)), "");
  EXPECT_EQ(broken_claim(a, {both(gradient)[0], both(gradient * slope)[1]}), "kernel.attention_backward.dbias");
}

TEST(BiasGradient, ARowWaitsForAllHeadsThatShareIt) {
  std::size_t rows = 0;
  const auto count = [&](std::size_t, std::size_t, std::size_t, const RowVerdicts&) { ++rows; };
  const auto first = [](std::size_t, std::size_t h, std::size_t) { return h == 0; };
  judge_bias_gradient(bias_task(Format::f32), two_heads(true), std::vector{-2.5, 2.5}, first, count);
  EXPECT_EQ(rows, 0u);
  judge_bias_gradient(bias_task(Format::f32), two_heads(false), std::vector{-0.5, 0.5, 7.0, 7.0}, first, count);
  EXPECT_EQ(rows, 1u);
}

}  // namespace
}  // namespace softcheck::proptests
