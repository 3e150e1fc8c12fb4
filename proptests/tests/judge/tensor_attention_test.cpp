// Attention at hand: every query by its own keys, head, mask and causality.
#include "proptests/tests/judge/tensor_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

// A task of attention with its right outputs, to be spoiled.
struct AttentionSample : TensorSample {
  StoredTensor q, k, v, mask;

  AttentionSample(Op op, Format format, const Shape& queries, const Shape& keys, std::int64_t value_dim,
                  SampleLayout layout = SampleLayout::compact)
      : q(filled(format, queries, 2, 1, layout)), k(filled(format, keys, 2, 2, layout)) {
    Shape values = keys;
    values.back() = value_dim;
    v = filled(format, values, 2, 3, layout);
    task.op = op;
    task.scale = 0.5;
    task.inputs = {q.held(), k.held(), v.held()};
    contract = contract_for(task, "");
    rewrite(layout);
  }

  void add_mask(const Shape& shape, const std::vector<std::uint8_t>& bytes) {
    mask = stored_mask(shape, bytes, SampleLayout::gaps);
    task.inputs.push_back(mask.held());
  }
  std::vector<std::size_t> numbers() const override { return {0, 1, 2}; }
  Format format_of(std::size_t which) const override {
    return which == 0 ? contract.output : output_format(task.op, contract.input);
  }
  // Of the first outputs alone.
  TensorJudgement judged_of(std::size_t count) const {
    AttentionSample some = *this;
    some.outputs.resize(count);
    return some.judged();
  }
};

TEST(TensorAttention, WhatIsRoundedCorrectlyPassesInEveryDtypeAndLayout) {
  for (const Op op : {Op::attention, Op::adaptive_attention}) {
    for (const Format format : wide_formats) {
      for (const SampleLayout layout : sample_layouts) {
        AttentionSample sample(op, format, {2, 4, 5, 3}, {2, 2, 6, 3}, 4, layout);
        TensorJudgement judgement = sample.judged();
        EXPECT_TRUE(passes(judgement));
        EXPECT_EQ(judgement.judged, 40u);
        EXPECT_EQ(judgement.worst.at(0).index.size(), 3u);
        EXPECT_EQ(judgement.rows.size(), 4u);
        EXPECT_EQ(sample.judged_of(1).rows.size(), 2u);
        EXPECT_TRUE(passes(sample.judged_of(2)));
        sample.task.causal = true;
        sample.rewrite(layout);
        judgement = sample.judged();
        EXPECT_TRUE(passes(judgement));
        sample.task.causal = false;
        EXPECT_EQ(sample.judged().verdict, ReportVerdict::fail);
      }
    }
  }
}

TEST(TensorAttention, TwoAndThreeDimensionsAreHeadsFromTheRight) {
  const AttentionSample two(Op::attention, Format::f32, {5, 3}, {6, 3}, 2);
  EXPECT_TRUE(passes(two.judged()));
  EXPECT_EQ(two.judged().worst.at(0).index.size(), 1u);
  EXPECT_EQ(output_shape(two.task, 0), (Shape{5, 2}));
  EXPECT_EQ(output_shape(two.task, 1), (Shape{5}));
  const AttentionSample three(Op::attention, Format::f32, {6, 5, 3}, {3, 6, 3}, 2);
  EXPECT_TRUE(passes(three.judged()));
  EXPECT_EQ(three.judged().judged, 30u);
}

TEST(TensorAttention, ARowOfTheWrongHeadIsFound) {
  AttentionSample sample(Op::attention, Format::f32, {1, 4, 5, 3}, {1, 2, 6, 3}, 4);
  const StoredTensor right = sample.outputs[0];
  for (std::size_t c = 0; c < 4; ++c) sample.outputs[0].set((2 * 5 + 3) * 4 + c, right.at((0 * 5 + 3) * 4 + c));
  const TensorJudgement judgement = sample.judged();
  EXPECT_EQ(judgement.verdict, ReportVerdict::fail);
  EXPECT_EQ(judgement.failed, 1u);
  EXPECT_EQ(judgement.worst[0].index, (Shape{0, 2, 3}));
  EXPECT_THAT(details_text(judgement), HasSubstr("row (0, 2, 3)"));
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
  for (const Shape& shape : std::vector<Shape>{{6}, {5, 6}, {4, 1, 6}, {2, 1, 5, 6}, {1, 1, 1, 6}, {2, 4, 5, 6}}) {
    AttentionSample sample(Op::attention, Format::f32, {2, 4, 5, 3}, {2, 2, 6, 3}, 4);
    const std::size_t elements = elements_of(shape);
    std::vector<std::uint8_t> bytes(elements);
    for (std::size_t i = 0; i < elements; ++i) bytes[i] = i % 5 == 2 ? 0 : 1;
    EXPECT_TRUE(passes(sample.judged()));
    sample.add_mask(shape, bytes);
    EXPECT_EQ(sample.judged().verdict, ReportVerdict::fail);  // the mask was ignored
    sample.rewrite();
    EXPECT_TRUE(passes(sample.judged()));
  }
}

TEST(TensorAttention, AQueryThatSeesNothingIsWhatTheContractSays) {
  for (const char* words : {"masked=zero", "masked=nan", "masked=uniform"}) {
    AttentionSample sample(Op::attention, Format::f32, {5, 3}, {3, 3}, 4);
    sample.task.causal = true;  // the first two queries see no key
    sample.contract = contract_for(sample.task, words);
    sample.rewrite();
    TensorJudgement judgement = sample.judged();
    EXPECT_TRUE(passes(judgement)) << words;
    EXPECT_EQ(row_of_claim(judgement, "kernel.masked_row").cases, 2u);
    sample.outputs[0].set(5, 3);
    judgement = sample.judged();
    EXPECT_EQ(judgement.failed, 1u) << words;
    EXPECT_EQ(judgement.worst[0].index, Shape{1});
  }
}

TEST(TensorAttention, ANaNMakesTheRowsThatMeetItNaN) {
  AttentionSample sample(Op::attention, Format::f32, {2, 5, 3}, {2, 6, 3}, 4);
  const std::vector<StoredTensor> before = sample.outputs;
  sample.q.set((0 * 5 + 2) * 3 + 1, nan);
  sample.k.set((1 * 6 + 5) * 3 + 0, nan);
  sample.task.causal = true;  // of head 1 only the last query sees the last key
  sample.rewrite();
  TensorJudgement judgement = sample.judged();
  EXPECT_TRUE(passes(judgement));
  EXPECT_EQ(row_of_claim(judgement, "kernel.nan_row").cases, 2u);
  EXPECT_TRUE(std::isnan(sample.outputs[0].at((0 * 5 + 2) * 4)));
  sample.outputs[2].set(1 * 5 + 4, 0.5);
  judgement = sample.judged();
  EXPECT_EQ(judgement.failed, 1u);
  EXPECT_EQ(judgement.worst[0].index, (Shape{1, 4}));
  EXPECT_EQ(judgement.worst[0].finding.claim, "kernel.nan_row");
}

TEST(TensorAttention, ANaNOrAnInfinityInAValueIsItsColumns) {
  AttentionSample sample(Op::attention, Format::f32, {5, 3}, {6, 3}, 4);
  sample.v.set(2 * 4 + 1, nan);
  sample.v.set(3 * 4 + 2, -infinity);
  sample.rewrite();
  TensorJudgement judgement = sample.judged();
  EXPECT_TRUE(passes(judgement));
  EXPECT_EQ(sample.outputs[0].at(2), -infinity);
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
  const auto values_in = [](const StoredTensor& tensor) {
    std::vector<double> values(elements_of(tensor.shape));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = tensor.at(i);
    return values;
  };
  AttentionCase same;
  same.shape = {.batch = 2, .kv_heads = 2, .group = 2, .queries = 5, .keys = 6, .dim = 3, .value_dim = 4};
  same.scale = sample.task.scale;
  same.format = Format::f16;
  same.queries = values_in(sample.q);
  same.keys = values_in(sample.k);
  same.values = values_in(sample.v);
  const std::vector<std::vector<double>> got{values_in(sample.outputs[0]), values_in(sample.outputs[1]),
                                             values_in(sample.outputs[2])};
  std::size_t failed = 0;
  const AttentionTask by{Op::attention, sample.contract, Format::f32};
  each_row(same.shape, [&](std::size_t b, std::size_t h, std::size_t i) {
    const RowVerdicts verdicts =
        judge_attention(by, row_of(same, b, h, i), values_of(same, got, row_number(same.shape, b, h, i)));
    bool violated = false;
    for (const ValueFinding& finding : verdicts.findings) violated |= finding.decision == Decision::violated;
    failed += violated ? 1 : 0;
  });
  EXPECT_GT(failed, 0u);
  EXPECT_LT(failed, 40u);
  EXPECT_EQ(sample.judged().failed, failed);
}

}  // namespace
}  // namespace softcheck::proptests
