// Results at hand of calls with parameters: attention with its attributes, and what top-p and min-p keep.
#include "judge/ops/attention/query_oracles.hpp"
#include "proptests/tests/judge/tensor_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

std::vector<AttentionCase> forward_cases() {
  AttentionOptions options = small_attention(12, 256, all_attributes);
  options.blind_queries = true;
  return whole_cases(options, 80, 29);
}

// Every value of reference() is that of the query's own oracle, whose row attention_rows.hpp puts together.
TEST(TensorTerms, AttentionHasItsAttributes) {
  for (const AttentionCase& a : forward_cases()) {
    std::vector<StoredTensor> memory;
    CaseTensors tensors(a, Op::attention, memory);
    tensors.add_mask();
    const TensorTask& task = tensors.task;
    const AttentionTask by = attention_task(Op::attention);
    const AttentionShape& s = a.shape;
    std::vector<StoredTensor> outputs;
    for (std::size_t which = 0; which < 2; ++which) {
      const std::vector<double> ideal = ideal_output(task, by.contract, which, Format::f32);
      outputs.push_back(stored(Format::f32, output_shape(task, which), ideal));
      each_row(s, [&](std::size_t b, std::size_t h, std::size_t i) {
        const AttentionRow row = row_of(a, b, h, i);
        const std::vector<std::size_t> items = visible_items(row);
        const double got = ideal[row_number(s, b, h, i) * (which == 0 ? s.value_dim : 1)];
        if (items.empty()) {
          EXPECT_EQ(got, which == 0 ? 0 : row.sink ? *row.sink : -infinity) << to_text(a);
          return;
        }
        const numerics::PrecisionScope precision(113);
        QueryOracles oracles(by, row, items);
        const Enclosure exact = oracles.value(which == 0 ? AttentionClaim::output : AttentionClaim::lse, 0);
        EXPECT_EQ(got, round_to(Format::f32, exact.midpoint())) << to_text(a);
      });
    }
    std::vector<GivenTensor> held{outputs[0].held(), outputs[1].held()};
    EXPECT_EQ(judge_tensors(task, by.contract, held).verdict, ReportVerdict::pass) << to_text(a);
    outputs[1].set(0, outputs[1].at(0) == -infinity ? 0 : outputs[1].at(0) + 1 + 0x1p-8 * std::fabs(outputs[1].at(0)));
    held[1] = outputs[1].held();
    EXPECT_EQ(judge_tensors(task, by.contract, held).verdict, ReportVerdict::fail) << to_text(a);
  }
}

TEST(TensorTerms, WhatAttentionCannotHaveIsRefused) {
  const StoredTensor q = stored(Format::f32, {1, 2, 3, 2}, sample_numbers(Format::f32, 12, 1, 1));
  const StoredTensor sinks = stored(Format::f32, {2}, {0, 1}), wrong = stored(Format::f32, {3}, {0, 1, 2});
  const StoredTensor scores = stored(Format::f32, {1, 2, 3}, {0, 1, 2, 3, 4, 5});
  const StoredTensor endless = stored(Format::f32, {1}, {infinity});
  TensorTask task;
  task.op = Op::attention;
  task.inputs = {q.held(), q.held(), q.held(), sinks.held()};
  task.roles = {Role::query, Role::key, Role::value, Role::sinks};
  const Contract contract = contract_for(task, "");
  const auto judged = [&](std::size_t count) {
    std::vector<GivenTensor> outputs{q.held(), scores.held(), scores.held()};
    outputs.resize(count);
    return refusal_of([&] { judge_tensors(task, contract, outputs); });
  };
  EXPECT_EQ(judged(2), "not refused");
  EXPECT_EQ(judged(3), "entropy: need none beside sinks, whose weights do not add up to 1");
  task.inputs[3] = wrong.held();
  EXPECT_EQ(judged(2), "sinks: need shape (2,), got (3,)");
  task.roles[3] = Role::bias;
  task.inputs[3] = endless.held();
  EXPECT_EQ(judged(1).substr(0, 25), "bias: need finite numbers");
  task.op = Op::adaptive_attention;
  EXPECT_EQ(judged(1), "bias: need no such input, as adaptive_attention at hand has none");
  task.roles.clear();
  task.inputs.pop_back();
  task.attributes.softcap = 2;
  EXPECT_EQ(judged(1), "softcap: need 0, as adaptive_attention has none, got 2.000000");
}

TEST(TensorTerms, TopPKeepsWhatItMust) {
  // Coefficients of 1/2, 1/4, 1/8, 1/8, nearly.
  const double two = round_to(Format::f32, 0x1.62e42fefa39efp-1);
  const StoredTensor logits = stored(Format::f32, {2, 4}, {3 * two, 2 * two, two, two, 0, 0, 0, -infinity});
  TensorTask task;
  task.op = Op::top_p_softmax;
  task.inputs = {logits.held()};
  task.attributes.top_p = 0.6;
  const Contract contract = contract_for(task, "masked=zero");
  StoredTensor got = stored(Format::f32, {2, 4}, ideal_output(task, contract, 0, Format::f32));
  EXPECT_EQ(got.at(2), 0);
  EXPECT_NEAR(got.at(0), 2.0 / 3, 1e-6);
  EXPECT_EQ(got.at(4), 0.5);  // of three equal items two reach 0.6
  const auto verdict = [&] { return judge_tensors(task, contract, std::vector{got.held()}).verdict; };
  EXPECT_EQ(verdict(), ReportVerdict::pass);
  const std::vector<double> all{0.5, 0.25, 0.125, 0.125, 1.0 / 3, 1.0 / 3, 1.0 / 3, 0};
  got = stored(Format::f32, {2, 4}, all);
  TensorJudgement judgement = judge_tensors(task, contract, std::vector{got.held()});
  EXPECT_EQ(judgement.failed, 1u);  // of equal items all may stay
  EXPECT_EQ(row_of_claim(judgement, "kernel.top_p_softmax.kept").verdict, ReportVerdict::fail);
  task.attributes.top_p = 0;
  EXPECT_EQ(verdict(), ReportVerdict::pass);
  task.attributes.min_p = 0.4;
  EXPECT_EQ(verdict(), ReportVerdict::fail);
  std::vector<double> allowed(8);
  thresholds(task, contract, 0, allowed);
  EXPECT_EQ(allowed[2], 0);
  EXPECT_GT(allowed[1], 0);
  task.attributes.min_p = 1.5;
  EXPECT_EQ(refusal_of(verdict), "min_p: need a number in (0, 1], or 0 for none, got 1.500000");
  task.attributes = {};
  task.op = Op::softmax;
  task.attributes.top_p = 0.5;
  EXPECT_EQ(refusal_of(verdict), "top_p: need 0, as softmax has none, got 0.500000");
}

}  // namespace
}  // namespace softcheck::proptests
