// The gradient by attention's sinks, and gradients of packed sequences: what a call asks for and holds, and what the
// judge sums.
#include "judge/ops/attention/sink_gradient.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "judge/ops/attention/attention_op.hpp"
#include "judge/trial/kernel_judgement.hpp"
#include "numerics/formats/special_values.hpp"
#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

AttentionTask task_of(Format format) {
  AttentionTask task;
  task.op = Op::attention_backward;
  task.contract = parse_contract("masked=zero", format, format);
  task.scalars = wide_format(format);
  return task;
}

// Of the domain's word alone: a kernel that was written before is judged as before.
TEST(SinkGradient, IsAskedForByItsWord) {
  EXPECT_THROW(domain_of("dsinks", Op::attention), std::invalid_argument);
  const Domain asking = domain_of("dsinks alibi", Op::attention_backward);
  EXPECT_TRUE(asking.sinks);
  EXPECT_EQ(parse_domain(to_string(asking), true), asking);
  for (const auto& [words, asked] : {std::pair{"dsinks", true}, std::pair{"sinks", false}}) {
    AttentionOptions options;
    options.max_keys = options.long_keys = 20;
    options.max_work = 256;
    options.gradients = options.attributes = true;
    options.domain = parse_domain(words, true);
    const AttentionTask task = task_of(Format::bf16);
    options.format = Format::bf16;
    const auto generator = attention_cases(options);
    rc::Random random(3);
    for (int i = 0; i < 20; ++i) {
      const AttentionCase a = generator(random.split(), 100).value();
      ASSERT_FALSE(a.attributes.sinks.empty());
      const TensorCall call = task.op.attention_op().call(task, a);
      ASSERT_EQ(call.outputs.size(), asked ? 4u : 3u);
      EXPECT_TRUE(admits(options, a));
      if (!asked) continue;
      EXPECT_EQ(call.outputs[3].place.shape, std::vector{static_cast<std::int64_t>(a.shape.heads())});
      EXPECT_EQ(call.outputs[3].place.format, Format::f32);
      AttentionCase fewer = a;
      fewer.outputs = 1;  // no call of the domain
      EXPECT_FALSE(admits(options, fewer));
      fewer.attributes.sinks.clear();
      EXPECT_TRUE(admits(options, fewer));
    }
  }
}

// A head none of whose queries sees a key: delta is 0.
TEST(SinkGradient, ASinkThatIsSeenAloneHasNone) {
  AttentionCase a;
  a.shape = {1, 1, 1, 1, 1, 1, 1};
  a.queries = a.keys = a.values = a.gradients = {1};
  a.mask = {0};
  a.attributes.sinks = {3};
  a.outputs = 2;
  const AttentionTask task = task_of(Format::f32);
  for (const double got : {0.0, -0x1p-149}) {
    const std::optional<RowVerdicts> verdicts = judge_sink_gradient(task, a, 0, got);
    ASSERT_TRUE(verdicts && verdicts->findings.size() == 1);
    EXPECT_EQ(verdicts->findings[0].claim, "kernel.masked_row");
    EXPECT_EQ(verdicts->findings[0].decision, got == 0 ? Decision::proved : Decision::violated);
  }
}

// Two batches of a query each: p_sink = 1/2 and delta = dO v / 2.
TEST(SinkGradient, IsSummedOverTheBatch) {
  AttentionCase a;
  a.shape = {2, 1, 1, 1, 1, 1, 1};
  a.queries = a.keys = {0, 0};
  a.values = {1, 1};
  a.gradients = {1, 4};
  a.attributes.sinks = {0};
  a.outputs = 2;
  const AttentionTask task = task_of(Format::f32);
  for (const auto& [got, right] : {std::pair{-1.25, true}, std::pair{-1.0, false}, std::pair{1.25, false}}) {
    const std::optional<RowVerdicts> verdicts = judge_sink_gradient(task, a, 0, got);
    ASSERT_TRUE(verdicts && verdicts->findings.size() == 1);
    EXPECT_EQ(verdicts->findings[0].claim, "kernel.attention_backward.dsinks");
    EXPECT_EQ(verdicts->findings[0].decision, right ? Decision::proved : Decision::violated);
  }
  EXPECT_FALSE(judge_sink_gradient(task, a, 0, 0, [](std::size_t b, std::size_t) { return b == 1; }));
}

// Two sequences of 1 and 2 queries, 3 and 0 keys; two query heads over one key head; numbers tell where they stand.
AttentionCase packed_by_hand() {
  AttentionCase a;
  a.shape = {2, 1, 2, 2, 3, 1, 1};
  a.queries = {1, 2, 3, 4, 5, 6, 7, 8};  // (batch, heads, queries)
  a.keys = {10, 11, 12, 13, 14, 15};
  a.values = {20, 21, 22, 23, 24, 25};
  a.gradients = {31, 32, 33, 34, 35, 36, 37, 38};
  a.sequences.packed = true;
  a.sequences.queries = {1, 2};
  a.sequences.keys = {3, 0};
  return a;
}

TEST(PackedGradient, ACallHoldsOneSequenceBehindTheOther) {
  const AttentionTask task = task_of(Format::f32);
  const TensorCall call = task.op.attention_op().call(task, packed_by_hand());
  EXPECT_EQ(call.roles, (std::vector<Role>{Role::query, Role::key, Role::value, Role::out, Role::lse,
                                           Role::out_gradient, Role::cu_q, Role::cu_k}));
  EXPECT_EQ(call.inputs[0].values, (std::vector<double>{1, 3, 5, 7, 6, 8}));
  EXPECT_EQ(call.inputs[1].values, (std::vector<double>{10, 11, 12}));
  EXPECT_EQ(call.inputs[5].values, (std::vector<double>{31, 33, 35, 37, 36, 38}));
  EXPECT_EQ(call.inputs[4].place.shape, (std::vector<std::int64_t>{2, 3}));
  // (heads, total): the second sequence has no key.
  for (const std::size_t row : {1, 2, 4, 5}) EXPECT_EQ(call.inputs[4].values[row], -infinity);
  const double of_first = std::log(std::exp(10.0) + std::exp(11.0) + std::exp(12.0));
  EXPECT_EQ(std::round(1000 * call.inputs[4].values[0]), std::round(1000 * of_first));
  EXPECT_EQ(call.outputs[0].place.shape, (std::vector<std::int64_t>{3, 2, 1}));
  EXPECT_EQ(call.outputs[1].place.shape, (std::vector<std::int64_t>{3, 1, 1}));
  const AttentionOp::Outputs dense =
      task.op.attention_op().dense(packed_by_hand(), {{1, 3, 5, 7, 6, 8}, {10, 11, 12}, {20, 21, 22}});
  EXPECT_EQ(dense[0], (std::vector<double>{1, 0, 3, 0, 5, 6, 7, 8}));
  EXPECT_EQ(dense[1], (std::vector<double>{10, 11, 12, 0, 0, 0}));
  EXPECT_EQ(dense[2], (std::vector<double>{20, 21, 22, 0, 0, 0}));
}

// The first sequence has no queries; the numbers of the one that it could have are those of the second's.
TEST(PackedGradient, AQueryOfNoSequenceIsLikeNoOther) {
  AttentionCase a;
  a.shape = {2, 1, 1, 1, 1, 1, 1};
  a.queries = a.keys = a.values = a.gradients = {0, 0};
  a.sequences.packed = true;
  a.sequences.queries = {0, 1};
  a.sequences.keys = {1, 1};
  const AttentionTask task = task_of(Format::f32);
  EXPECT_EQ(task.op.attention_op().call(task, a).inputs[4].values, std::vector<double>{0});
}

TEST(PackedGradient, PagesAreNoneOfItsLayouts) {
  EXPECT_NO_THROW(domain_of("packed dsinks window", Op::attention_backward));
  EXPECT_THROW(domain_of("pages", Op::attention_backward), std::invalid_argument);
  EXPECT_THROW(domain_of("packed pages", Op::attention_backward), std::invalid_argument);
  EXPECT_THROW(domain_of("packed", Op::adaptive_attention), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::proptests
