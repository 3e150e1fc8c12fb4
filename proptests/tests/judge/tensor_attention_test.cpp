// Attention at hand: every query by its own keys, head, mask and causality.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "judge/ops/attention/attention_rows.hpp"
#include "judge/results/tensor_judge.hpp"
#include "proptests/tests/judge/tensor_samples.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Contract;
using numerics::Format;

constexpr double attention_nan = std::numeric_limits<double>::quiet_NaN();

// A task of attention with its right outputs, to be spoiled.
struct AttentionSample {
  StoredTensor q, k, v, mask;
  std::vector<StoredTensor> outputs;
  TensorTask task;
  Contract contract;

  AttentionSample(Op op, Format format, const std::vector<std::int64_t>& queries, const std::vector<std::int64_t>& keys,
                  std::int64_t value_dim, SampleLayout layout = SampleLayout::compact) {
    const auto filled = [&](std::vector<std::int64_t> shape, unsigned seed) {
      std::size_t count = 1;
      for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
      return stored(format, shape, sample_numbers(format, count, 2, seed), layout);
    };
    q = filled(queries, 1);
    k = filled(keys, 2);
    std::vector<std::int64_t> values = keys;
    values.back() = value_dim;
    v = filled(values, 3);
    task.op = op;
    task.scale = 0.5;
    task.inputs = {q.held(), k.held(), v.held()};
    contract = contract_for(task, "");
    rewrite(layout);
  }

  void add_mask(const std::vector<std::int64_t>& shape, const std::vector<std::uint8_t>& bytes) {
    mask = stored_mask(shape, bytes, SampleLayout::gaps);
    task.inputs.push_back(mask.held());
  }
  void rewrite(SampleLayout layout = SampleLayout::compact) {
    outputs.clear();
    for (std::size_t which = 0; which < 3; ++which) {
      const Format format = which == 0 ? contract.output : output_format(task.op, contract.input);
      outputs.push_back(stored(format, output_shape(task, which), ideal_output(task, contract, which, format), layout));
    }
  }
  TensorJudgement judged(std::size_t count = 3, const TensorOptions& options = {}) const {
    std::vector<GivenTensor> held;
    for (std::size_t which = 0; which < count; ++which) held.push_back(outputs[which].held());
    return judge_tensors(task, contract, held, options);
  }
};

constexpr SampleLayout attention_layouts[] = {SampleLayout::compact, SampleLayout::column_major, SampleLayout::reversed,
                                              SampleLayout::gaps};

TEST(TensorAttention, WhatIsRoundedCorrectlyPassesInEveryDtypeAndLayout) {
  for (const Op op : {Op::attention, Op::adaptive_attention}) {
    for (const Format format : {Format::f64, Format::f32, Format::f16, Format::bf16}) {
      for (const SampleLayout layout : attention_layouts) {
        AttentionSample sample(op, format, {2, 4, 5, 3}, {2, 2, 6, 3}, 4, layout);
        TensorJudgement judgement = sample.judged();
        EXPECT_EQ(judgement.verdict, ReportVerdict::pass) << details_text(judgement);
        EXPECT_EQ(judgement.judged, 40u);
        EXPECT_EQ(judgement.worst.at(0).index.size(), 3u);
        EXPECT_EQ(judgement.rows.size(), 4u);
        EXPECT_EQ(sample.judged(1).rows.size(), 2u);
        EXPECT_EQ(sample.judged(2).verdict, ReportVerdict::pass);
        sample.task.causal = true;
        sample.rewrite(layout);
        judgement = sample.judged();
        EXPECT_EQ(judgement.verdict, ReportVerdict::pass) << details_text(judgement);
        sample.task.causal = false;
        EXPECT_EQ(sample.judged().verdict, ReportVerdict::fail);
      }
    }
  }
}

TEST(TensorAttention, TwoAndThreeDimensionsAreHeadsFromTheRight) {
  const AttentionSample two(Op::attention, Format::f32, {5, 3}, {6, 3}, 2);
  EXPECT_EQ(two.judged().verdict, ReportVerdict::pass);
  EXPECT_EQ(two.judged().worst.at(0).index.size(), 1u);
  EXPECT_EQ(output_shape(two.task, 0), (std::vector<std::int64_t>{5, 2}));
  EXPECT_EQ(output_shape(two.task, 1), (std::vector<std::int64_t>{5}));
  const AttentionSample three(Op::attention, Format::f32, {6, 5, 3}, {3, 6, 3}, 2);
  EXPECT_EQ(three.judged().verdict, ReportVerdict::pass);
  EXPECT_EQ(three.judged().judged, 30u);
}

TEST(TensorAttention, ARowOfTheWrongHeadIsFound) {
  AttentionSample sample(Op::attention, Format::f32, {1, 4, 5, 3}, {1, 2, 6, 3}, 4);
  const StoredTensor right = sample.outputs[0];
  for (std::size_t c = 0; c < 4; ++c) sample.outputs[0].set((2 * 5 + 3) * 4 + c, right.at((0 * 5 + 3) * 4 + c));
  const TensorJudgement judgement = sample.judged();
  EXPECT_EQ(judgement.verdict, ReportVerdict::fail);
  EXPECT_EQ(judgement.failed, 1u);
  EXPECT_EQ(judgement.worst[0].index, (std::vector<std::int64_t>{0, 2, 3}));
  EXPECT_NE(details_text(judgement).find("row (0, 2, 3)"), std::string::npos) << details_text(judgement);
  EXPECT_EQ(row_of_claim(judgement, "kernel.attention.lse").verdict, ReportVerdict::pass);
}

TEST(TensorAttention, ALogarithmToBaseTwoIsFound) {
  AttentionSample sample(Op::attention, Format::bf16, {4, 3}, {9, 3}, 4);
  for (std::size_t i = 0; i < 4; ++i) sample.outputs[1].set(i, sample.outputs[1].at(i) / std::log(2.0));
  const TensorJudgement judgement = sample.judged();
  EXPECT_EQ(row_of_claim(judgement, "kernel.attention.lse").verdict, ReportVerdict::fail);
  EXPECT_EQ(row_of_claim(judgement, "kernel.attention.output").verdict, ReportVerdict::pass);
  EXPECT_EQ(judgement.failed, 4u);
}

TEST(TensorAttention, AMaskIsBroadcastOverBatchHeadsAndQueries) {
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{6}, {5, 6}, {4, 1, 6}, {2, 1, 5, 6}, {1, 1, 1, 6}, {2, 4, 5, 6}}) {
    AttentionSample sample(Op::attention, Format::f32, {2, 4, 5, 3}, {2, 2, 6, 3}, 4);
    std::size_t elements = 1;
    for (const std::int64_t size : shape) elements *= static_cast<std::size_t>(size);
    std::vector<std::uint8_t> bytes(elements);
    for (std::size_t i = 0; i < elements; ++i) bytes[i] = i % 5 == 2 ? 0 : 1;
    EXPECT_EQ(sample.judged().verdict, ReportVerdict::pass);
    sample.add_mask(shape, bytes);
    EXPECT_EQ(sample.judged().verdict, ReportVerdict::fail);  // the mask was ignored
    sample.rewrite();
    EXPECT_EQ(sample.judged().verdict, ReportVerdict::pass) << details_text(sample.judged());
  }
}

TEST(TensorAttention, AQueryThatSeesNothingIsWhatTheContractSays) {
  for (const char* words : {"masked=zero", "masked=nan", "masked=uniform"}) {
    AttentionSample sample(Op::attention, Format::f32, {5, 3}, {3, 3}, 4);
    sample.task.causal = true;  // the first two queries see no key
    sample.contract = contract_for(sample.task, words);
    sample.rewrite();
    TensorJudgement judgement = sample.judged();
    EXPECT_EQ(judgement.verdict, ReportVerdict::pass) << words << details_text(judgement);
    EXPECT_EQ(row_of_claim(judgement, "kernel.masked_row").cases, 2u);
    sample.outputs[0].set(5, 3);
    judgement = sample.judged();
    EXPECT_EQ(judgement.failed, 1u) << words;
    EXPECT_EQ(judgement.worst[0].index, std::vector<std::int64_t>{1});
  }
}

TEST(TensorAttention, ANaNMakesTheRowsThatMeetItNaN) {
  AttentionSample sample(Op::attention, Format::f32, {2, 5, 3}, {2, 6, 3}, 4);
  const std::vector<StoredTensor> before = sample.outputs;
  sample.q.set((0 * 5 + 2) * 3 + 1, attention_nan);
  sample.k.set((1 * 6 + 5) * 3 + 0, attention_nan);
  sample.task.causal = true;  // of head 1 only the last query sees the last key
  sample.rewrite();
  TensorJudgement judgement = sample.judged();
  EXPECT_EQ(judgement.verdict, ReportVerdict::pass) << details_text(judgement);
  EXPECT_EQ(row_of_claim(judgement, "kernel.nan_row").cases, 2u);
  EXPECT_TRUE(std::isnan(sample.outputs[0].at((0 * 5 + 2) * 4)));
  sample.outputs[2].set(1 * 5 + 4, 0.5);
  judgement = sample.judged();
  EXPECT_EQ(judgement.failed, 1u);
  EXPECT_EQ(judgement.worst[0].index, (std::vector<std::int64_t>{1, 4}));
  EXPECT_EQ(judgement.worst[0].finding.claim, "kernel.nan_row");
}

TEST(TensorAttention, ANaNOrAnInfinityInAValueIsItsColumns) {
  AttentionSample sample(Op::attention, Format::f32, {5, 3}, {6, 3}, 4);
  sample.v.set(2 * 4 + 1, attention_nan);
  sample.v.set(3 * 4 + 2, -std::numeric_limits<double>::infinity());
  sample.rewrite();
  TensorJudgement judgement = sample.judged();
  EXPECT_EQ(judgement.verdict, ReportVerdict::pass) << details_text(judgement);
  EXPECT_EQ(sample.outputs[0].at(2), -std::numeric_limits<double>::infinity());
  sample.outputs[0].set(2 * 4 + 3, sample.outputs[0].at(2 * 4 + 3) + 0.25);
  judgement = sample.judged();
  EXPECT_EQ(judgement.failed, 1u);
  EXPECT_EQ(judgement.worst[0].finding.item, 3u);
  sample.rewrite();
  sample.outputs[0].set(3 * 4 + 1, 1);
  sample.outputs[0].set(4 * 4 + 2, 1);
  judgement = sample.judged();
  EXPECT_EQ(judgement.failed, 2u);
  EXPECT_EQ(row_of_claim(judgement, "kernel.nan_row").verdict, ReportVerdict::fail);
  EXPECT_EQ(row_of_claim(judgement, "kernel.infinite_row").verdict, ReportVerdict::fail);
  EXPECT_EQ(row_of_claim(judgement, "kernel.attention.output").verdict, ReportVerdict::pass);
}

// The kernel judge's own function on the rows of a case, and the tensors of that case.
TEST(TensorAttention, EachRowIsJudgedAsTheKernelJudgeJudgesIt) {
  AttentionSample sample(Op::attention, Format::f16, {2, 4, 5, 3}, {2, 2, 6, 3}, 4, SampleLayout::gaps);
  for (std::size_t i = 0; i < sample.outputs[0].memory.size() / 2 && i < 160; i += 3) {
    sample.outputs[0].set(i, sample.outputs[0].at(i) * (1 + static_cast<double>(i % 7) * 0x1p-11));
  }
  AttentionCase same;
  same.shape.batch = 2;
  same.shape.kv_heads = 2;
  same.shape.group = 2;
  same.shape.queries = 5;
  same.shape.keys = 6;
  same.shape.dim = 3;
  same.shape.value_dim = 4;
  same.scale = sample.task.scale;
  same.format = Format::f16;
  for (std::size_t i = 0; i < 120; ++i) same.queries.push_back(sample.q.at(i));
  for (std::size_t i = 0; i < 72; ++i) same.keys.push_back(sample.k.at(i));
  for (std::size_t i = 0; i < 96; ++i) same.values.push_back(sample.v.at(i));
  std::vector<std::vector<double>> got(3);
  for (std::size_t i = 0; i < 160; ++i) got[0].push_back(sample.outputs[0].at(i));
  for (std::size_t i = 0; i < 40; ++i) {
    got[1].push_back(sample.outputs[1].at(i));
    got[2].push_back(sample.outputs[2].at(i));
  }
  std::size_t failed = 0;
  const AttentionTask by{Op::attention, sample.contract, Format::f32};
  each_row(same.shape, [&](std::size_t b, std::size_t h, std::size_t i) {
    const RowVerdicts verdicts =
        judge_attention(by, row_of(same, b, h, i), values_of(same, got, row_number(same.shape, b, h, i)));
    bool violated = false;
    for (const ValueFinding& finding : verdicts.findings) violated |= finding.decision == numerics::Decision::violated;
    failed += violated ? 1 : 0;
  });
  EXPECT_GT(failed, 0u);
  EXPECT_LT(failed, 40u);
  EXPECT_EQ(sample.judged().failed, failed);
}

}  // namespace
}  // namespace softcheck::proptests
