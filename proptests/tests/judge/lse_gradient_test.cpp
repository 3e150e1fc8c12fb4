// The gradient of a loss by attention's log-sum-exps, as an input of attention's gradient.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "judge/ops/attention/attention_op.hpp"
#include "judge/trial/kernel_judgement.hpp"
#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

AttentionTask task_with_lse_gradient(Format format) {
  AttentionTask task;
  task.op = Op::attention_backward;
  task.contract = parse_contract("masked=zero", format, format);
  task.scalars = wide_format(format);
  return task;
}

AttentionOptions options_of(const char* words) {
  AttentionOptions options;
  options.max_keys = options.long_keys = 20;
  options.max_work = 256;
  options.gradients = options.attributes = options.blind_queries = true;
  options.domain = parse_domain(words, true);
  options.format = Format::bf16;
  return options;
}

TEST(LseGradient, IsAWordOfAttentionsGradientAlone) {
  EXPECT_THROW(domain_of("dlse", Op::attention), std::invalid_argument);
  EXPECT_THROW(domain_of("dlse dsinks", Op::attention_backward), std::invalid_argument);
  const Domain domain = domain_of("dlse sinks dbias", Op::attention_backward);
  EXPECT_EQ(parse_domain(to_string(domain), true), domain);
}

TEST(LseGradient, IsTheLastInputOfItsCalls) {
  for (const char* words : {"dlse", "packed dlse window"}) {
    const AttentionOptions options = options_of(words);
    const auto generator = attention_cases(options);
    rc::Random random(5);
    std::size_t seen = 0;
    for (int i = 0; i < 12; ++i) {
      const AttentionCase a = generator(random.split(), 100).value();
      if (a.attributes.lse_gradients.empty()) continue;
      ++seen;
      EXPECT_TRUE(admits(options, a));
      const TensorCall call = Op::attention_backward.attention_op().call(task_with_lse_gradient(Format::bf16), a);
      EXPECT_EQ(call.roles.back(), Role::lse_gradient);
      EXPECT_EQ(call.inputs.back().place.format, Format::f32);
      EXPECT_EQ(call.inputs.back().place.shape, call.inputs[4].place.shape) << words;  // as lse
      EXPECT_EQ(call.op, static_cast<std::uint32_t>(SOFTCHECK_OP_ATTENTION_BACKWARD));
      AttentionCase read;
      from_text(to_text(a), read);
      EXPECT_EQ(read.attributes.lse_gradients, a.attributes.lse_gradients);
      EXPECT_EQ(to_text(read), to_text(a));
    }
    EXPECT_GT(seen, 4u) << words;
  }
}

TEST(LseGradient, ShrinksWithItsQueries) {
  const AttentionOptions options = options_of("dlse");
  rc::Random random(9);
  std::size_t steps = 0, without = 0, fewer = 0;
  for (int i = 0; i < 6; ++i) {
    const AttentionCase a = attention_cases(options)(random.split(), 100).value();
    rc::Seq<AttentionCase> simpler = shrink_attention_case(a, options);
    for (auto next = simpler.next(); next; next = simpler.next()) {
      ++steps;
      EXPECT_TRUE(sizes_agree(*next)) << to_text(*next);
      const bool none = next->attributes.lse_gradients.empty();
      without += none ? 1 : 0;
      fewer += !none && next->shape.queries < a.shape.queries ? 1 : 0;
    }
  }
  EXPECT_GT(steps, 20u);
  EXPECT_GT(without, 0u);
  EXPECT_GT(fewer, 0u);
}

// A query of scores 0 and two keys: p = 1/2, g = 1 and 3, delta = 2.
AttentionCase two_keys(double by_lse) {
  AttentionCase a;
  a.shape = {1, 1, 1, 1, 2, 1, 1};
  a.queries = {0};
  a.keys = {1, 2};
  a.values = {1, 3};
  a.gradients = {1};
  a.attributes.lse_gradients = {by_lse};
  return a;
}

std::string broken_by(const AttentionCase& a, double dq) {
  std::string broken;
  const std::vector<std::vector<double>> got{{dq}, {0, 0}, {0.5, 0.5}};
  Op::attention_backward.attention_op().judge(task_with_lse_gradient(Format::f32), a, got, {},
                                              [&](std::size_t, const RowVerdicts& verdicts) {
                                                for (const ValueFinding& finding : verdicts.findings) {
                                                  if (broken.empty() && finding.decision != Decision::proved)
                                                    broken = finding.claim;
                                                }
                                              });
  return broken;
}

TEST(LseGradient, IsAddedToEachDifference) {
  EXPECT_EQ(broken_by(two_keys(4), 6.5), "");  // (-1 + 4) / 2 + 2 (1 + 4) / 2
  EXPECT_EQ(broken_by(two_keys(0), 0.5), "");
  for (const double wrong : {0.5, -5.5, 12.5}) {
    EXPECT_EQ(broken_by(two_keys(4), wrong), "kernel.attention_backward.dq") << wrong;
  }
  // Of two queries alike the second has another gradient: they are not one.
  AttentionCase a = two_keys(4);
  a.shape.queries = 2;
  a.queries = {0, 0};
  a.gradients = {1, 1};
  a.attributes.lse_gradients = {4, 0};
  const std::vector<std::vector<double>> got{{6.5, 0.5}, {0, 0}, {1, 1}};
  std::size_t judged = 0;
  Op::attention_backward.attention_op().judge(task_with_lse_gradient(Format::f32), a, got, {},
                                              [&](std::size_t, const RowVerdicts& verdicts) {
                                                for (const ValueFinding& finding : verdicts.findings) {
                                                  ++judged;
                                                  EXPECT_EQ(finding.decision, Decision::proved) << finding.claim;
                                                }
                                              });
  EXPECT_GT(judged, 3u);
}

}  // namespace
}  // namespace softcheck::proptests
