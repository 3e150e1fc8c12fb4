// Tensors at hand: what is right passes in every dtype and layout, and a planted error is found where it stands.
#include "proptests/tests/judge/tensor_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

// A task of a row op with its right output, to be spoiled.
struct RowSample : TensorSample {
  StoredTensor logits, mask;

  RowSample(Op op, Format format, const Shape& shape, const std::vector<double>& numbers,
            SampleLayout layout = SampleLayout::compact, const std::string& words = "")
      : logits(stored(format, shape, numbers, layout)) {
    task.op = op;
    task.inputs = {logits.held()};
    contract = contract_for(task, words);
    rewrite(layout);
  }
};

Shape worst_index(const TensorJudgement& judgement) { return judgement.worst.at(0).index; }

TEST(TensorJudge, WhatIsRoundedCorrectlyPassesInEveryDtypeAndLayout) {
  for (const Op op : logits_ops()) {
    for (const Format format : wide_formats) {
      for (const SampleLayout layout : sample_layouts) {
        const RowSample sample(op, format, {3, 4, 17}, sample_numbers(format, 204, 5, 1), layout);
        const TensorJudgement judgement = sample.judged();
        EXPECT_TRUE(passes(judgement)) << to_string(op);
        EXPECT_EQ(judgement.judged, 12u);
        EXPECT_EQ(judgement.failed, 0u);
        EXPECT_EQ(judgement.worst.size(), 10u);
        EXPECT_EQ(judgement.profile.size(), 12u);
        EXPECT_EQ(judgement.histogram.size(), 41u);
      }
    }
  }
}

TEST(TensorJudge, OneWrongElementInTheLastRowIsFoundThere) {
  for (const Op op : logits_ops()) {
    for (const Format format : wide_formats) {
      RowSample sample(op, format, {50, 33}, sample_numbers(format, 1650, 3, 2));
      const std::size_t place = op->one_value_per_row ? 49 : 49 * 33 + 7;
      sample.outputs[0].set(place, sample.outputs[0].at(place) * 1.25);
      const TensorJudgement judgement = sample.judged();
      EXPECT_EQ(judgement.verdict, ReportVerdict::fail) << to_string(op);
      EXPECT_EQ(judgement.failed, 1u);
      EXPECT_EQ(worst_index(judgement), Shape{49});
      EXPECT_EQ(judgement.worst[0].finding.item, op->one_value_per_row ? std::nullopt : std::optional<std::size_t>(7));
      EXPECT_GT(judgement.worst[0].share, 1);
      EXPECT_GT(judgement.profile.back(), 1);
      EXPECT_THAT(details_text(judgement), HasSubstr("row (49)"));
    }
  }
}

TEST(TensorJudge, ARowThatStandsForAnotherIsFound) {
  RowSample sample(Op::softmax, Format::f32, {16, 16}, sample_numbers(Format::f32, 256, 3, 3));
  const StoredTensor right = sample.outputs[0];
  for (std::size_t i = 0; i < 16; ++i) sample.outputs[0].set(5 * 16 + i, right.at(i * 16 + 5));  // its column
  const TensorJudgement judgement = sample.judged();
  EXPECT_EQ(judgement.verdict, ReportVerdict::fail);
  EXPECT_EQ(judgement.failed, 1u);
  EXPECT_EQ(worst_index(judgement), Shape{5});
}

TEST(TensorJudge, AMaskThatWasIgnoredIsFound) {
  RowSample sample(Op::softmax, Format::f32, {2, 3, 8}, sample_numbers(Format::f32, 48, 3, 4));
  const StoredTensor unmasked = sample.outputs[0];
  sample.mask = stored_mask({3, 1}, {1, 0, 1}, SampleLayout::reversed);  // hides the whole row 1 of each matrix
  sample.task.inputs.push_back(sample.mask.held());
  sample.contract = contract_for(sample.task, "masked=zero");
  sample.rewrite();
  EXPECT_TRUE(passes(sample.judged()));
  sample.outputs[0] = unmasked;
  const TensorJudgement judgement = sample.judged();
  EXPECT_EQ(judgement.failed, 2u);
  EXPECT_EQ(row_of_claim(judgement, "kernel.masked_row").verdict, ReportVerdict::fail);
  EXPECT_EQ(row_of_claim(judgement, "kernel.softmax.element").verdict, ReportVerdict::pass);
}

TEST(TensorJudge, AMaskIsBroadcastAsNumPyDoes) {
  for (const Shape& shape : std::vector<Shape>{{8}, {1, 8}, {3, 8}, {2, 1, 8}, {2, 3, 8}, {1, 1, 1}}) {
    RowSample sample(Op::log_softmax, Format::f16, {2, 3, 8}, sample_numbers(Format::f16, 48, 3, 5));
    std::vector<std::uint8_t> bytes;
    const std::size_t elements = elements_of(shape);
    for (std::size_t i = 0; i < elements; ++i) bytes.push_back(i % 3 == 1 ? 0 : static_cast<std::uint8_t>(1 + i));
    sample.mask = stored_mask(shape, bytes, SampleLayout::gaps);
    sample.task.inputs.push_back(sample.mask.held());
    sample.rewrite();
    EXPECT_TRUE(passes(sample.judged()));
    // The same by logits of -inf.
    RowSample spoiled = sample;
    spoiled.task.inputs.pop_back();
    for (std::size_t i = 0; i < 48; ++i) {
      if (std::isinf(sample.outputs[0].at(i))) spoiled.logits.set(i, -infinity);
    }
    EXPECT_EQ(judge_tensors(spoiled.task, sample.contract, std::vector{sample.outputs[0].held()}).failed,
              elements == 1 ? 0u : 6u);
    spoiled.task.inputs = {spoiled.logits.held()};
    EXPECT_EQ(judge_tensors(spoiled.task, sample.contract, std::vector{sample.outputs[0].held()}).failed, 0u);
  }
}

TEST(TensorJudge, AMaskedItemIsExactDownToTheSignOfItsZero) {
  std::vector<double> numbers = sample_numbers(Format::f32, 40, 3, 6);
  numbers[33] = -infinity;
  RowSample sample(Op::softmax, Format::f32, {4, 10}, numbers);
  EXPECT_TRUE(passes(sample.judged()));
  sample.outputs[0].set(33, -0.0);
  const TensorJudgement judgement = sample.judged();
  EXPECT_EQ(judgement.verdict, ReportVerdict::fail);
  EXPECT_EQ(worst_index(judgement), Shape{3});
  EXPECT_EQ(judgement.worst[0].finding.item, 3u);
  EXPECT_EQ(judgement.worst[0].finding.reason, "a masked item");
  EXPECT_TRUE(std::isinf(judgement.profile[3]));
}

TEST(TensorJudge, ANaNRowThatIsAnsweredByNumbersIsFound) {
  for (const Op op : logits_ops()) {
    std::vector<double> numbers = sample_numbers(Format::bf16, 60, 3, 7);
    RowSample right(op, Format::bf16, {6, 10}, numbers);
    numbers[25] = nan;
    RowSample sample(op, Format::bf16, {6, 10}, numbers);
    TensorJudgement judgement = sample.judged();
    EXPECT_TRUE(passes(judgement));
    EXPECT_EQ(row_of_claim(judgement, "kernel.nan_row").cases, 1u);
    sample.outputs[0] = right.outputs[0];
    judgement = sample.judged();
    EXPECT_EQ(judgement.verdict, ReportVerdict::fail);
    EXPECT_EQ(worst_index(judgement), Shape{2});
    EXPECT_EQ(judgement.worst[0].finding.claim, "kernel.nan_row");
    judgement = sample.judged({.exempt = {"kernel.nan_row"}});
    EXPECT_EQ(judgement.verdict, ReportVerdict::pass);
    EXPECT_THAT(details_text(judgement), HasSubstr("does not hold, as known: kernel.nan_row, on 1 row"));
  }
}

TEST(TensorJudge, AMaskedNaNIsNotSeen) {
  std::vector<double> numbers = sample_numbers(Format::f32, 20, 3, 8);
  numbers[4] = nan;
  RowSample sample(Op::softmax, Format::f32, {2, 10}, numbers);
  sample.mask = stored_mask({10}, {1, 1, 1, 1, 0, 1, 1, 1, 1, 1});
  sample.task.inputs.push_back(sample.mask.held());
  sample.rewrite();
  EXPECT_TRUE(passes(sample.judged()));
  EXPECT_EQ(sample.outputs[0].at(4), 0);
}

TEST(TensorJudge, ARowWithAnInfinityIsNaNOrItsLimit) {
  for (const Op op : logits_ops()) {
    std::vector<double> numbers = sample_numbers(Format::f32, 30, 3, 9);
    numbers[12] = numbers[15] = infinity;
    RowSample sample(op, Format::f32, {3, 10}, numbers);
    EXPECT_TRUE(passes(sample.judged())) << to_string(op);
    const std::size_t width = op->one_value_per_row ? 1 : 10;
    RowSample other = sample;
    for (std::size_t i = 0; i < width; ++i) other.outputs[0].set(width + i, nan);
    EXPECT_TRUE(passes(other.judged()));
    other.outputs[0].set(width + (width > 1 ? 2 : 0), 0.125);
    const TensorJudgement judgement = other.judged();
    EXPECT_EQ(judgement.verdict, ReportVerdict::fail) << to_string(op);
    EXPECT_EQ(judgement.worst[0].finding.claim, "kernel.infinite_row");
    EXPECT_THAT(details_text(judgement),
                HasSubstr(op->answers.at_the_logits ? "expected inf or NaN" : "expected NaN or "));
  }
}

TEST(TensorJudge, ANaNInTheOutputIsShownAsNaN) {
  RowSample sample(Op::softmax, Format::f32, {2, 4}, sample_numbers(Format::f32, 8, 3, 10));
  sample.outputs[0].set(6, nan);
  const TensorJudgement judgement = sample.judged();
  EXPECT_EQ(judgement.verdict, ReportVerdict::fail);
  EXPECT_THAT(details_text(judgement), HasSubstr("got      NaN"));
}

TEST(TensorJudge, ValuesWhoseSumIsBeyondTheDoublesFail) {
  RowSample sample(Op::softmax, Format::f64, {1, 3}, {1, 2, 3});
  for (std::size_t i = 0; i < 3; ++i) sample.outputs[0].set(i, std::numeric_limits<double>::max());
  const TensorJudgement judgement = sample.judged();
  EXPECT_EQ(row_of_claim(judgement, "kernel.softmax.element").verdict, ReportVerdict::fail);
  EXPECT_EQ(row_of_claim(judgement, "kernel.softmax.row_sum").verdict, ReportVerdict::fail);
}

TEST(TensorJudge, RowScalarsMayHaveAColumnOfTheirOwn) {
  RowSample sample(Op::logsumexp, Format::f16, {3, 5}, sample_numbers(Format::f16, 15, 3, 11));
  EXPECT_EQ(sample.contract.output, Format::f32);
  GivenTensor column = sample.outputs[0].held();
  column.shape.push_back(1);
  column.strides.push_back(7);
  EXPECT_EQ(judge_tensors(sample.task, sample.contract, std::vector{column}).verdict, ReportVerdict::pass);
}

TEST(TensorJudge, ARowThatIsRepeatedByItsStrideIsJudgedEachTime) {
  const RowSample sample(Op::softmax, Format::f32, {9}, sample_numbers(Format::f32, 9, 3, 12));
  TensorTask task = sample.task;
  GivenTensor output = sample.outputs[0].held();
  for (GivenTensor* tensor : {&task.inputs[0], &output}) {
    tensor->shape = {4, 9};
    tensor->strides = {0, 1};
  }
  EXPECT_EQ(judge_tensors(task, sample.contract, std::vector{output}).judged, 4u);
}

TEST(TensorJudge, NothingAtAllIsVacuousAndEmptyRowsAreMaskedOnes) {
  const RowSample none(Op::softmax, Format::f32, {0, 5}, {});
  EXPECT_EQ(none.judged().verdict, ReportVerdict::vacuous);
  EXPECT_THAT(details_text(none.judged()), HasSubstr("no row was judged"));
  RowSample empty(Op::entropy, Format::f32, {3, 0}, {}, SampleLayout::compact, "masked=zero");
  EXPECT_TRUE(passes(empty.judged()));
  empty.outputs[0].set(1, 1);
  EXPECT_EQ(empty.judged().failed, 1u);
}

TEST(TensorJudge, AContractThatSaysNothingIsVacuous) {
  const RowSample sample(Op::softmax, Format::f32, {4, 100}, sample_numbers(Format::f32, 400, 3, 13),
                         SampleLayout::compact, "exp=E:8000000,A:1");
  const TensorJudgement judgement = sample.judged();
  EXPECT_EQ(judgement.verdict, ReportVerdict::vacuous) << details_text(judgement);
}

TEST(TensorJudge, RowsOfWhichTheContractsFormKeepsNothingAreNoVerdictAlone) {
  // Each x / theta errs by more than these rows are wide.
  const std::vector<double> lost{1e9, 1e9 + 64, 1e9 + 192};
  RowSample sample(Op::softmax, Format::f32, {1, 3}, lost, SampleLayout::compact, "theta=before");
  sample.task.theta = 0.5;
  for (std::size_t i = 0; i < 3; ++i) sample.outputs[0].set(i, i == 0 ? 0.5 : 0.25);
  EXPECT_EQ(sample.judged().verdict, ReportVerdict::vacuous) << details_text(sample.judged());
  // Auxiliary a row that is decided such a row does not take the verdict away.
  RowSample both(Op::softmax, Format::f32, {2, 3}, {1, 2, 3, lost[0], lost[1], lost[2]}, SampleLayout::compact,
                 "theta=before");
  both.task.theta = 0.5;
  both.rewrite();
  EXPECT_TRUE(passes(both.judged()));
  EXPECT_THAT(details_text(both.judged()), HasSubstr("1 row more"));
}

TEST(TensorJudge, AnInterruptedJudgementIsUndecidedUnlessItFailed) {
  // One row, so often that it takes a while.
  constexpr std::int64_t rows = std::int64_t{1} << 24;
  RowSample sample(Op::softmax, Format::f32, {16}, sample_numbers(Format::f32, 16, 3, 14));
  const auto judged = [&](const TensorOptions& options) {
    TensorTask task = sample.task;
    GivenTensor output = sample.outputs[0].held();
    for (GivenTensor* tensor : {&task.inputs[0], &output}) {
      tensor->shape = {rows, 16};
      tensor->strides = {0, 1};
    }
    return judge_tensors(task, sample.contract, std::vector{output}, options);
  };
  TensorOptions options;
  std::size_t told = 0;
  options.progress = [&](std::size_t done, std::size_t of) {
    ++told;
    EXPECT_LT(done, of);
    EXPECT_EQ(of, static_cast<std::size_t>(rows));
  };
  options.interrupted = [&] { return told == 2; };
  TensorJudgement judgement = judged(options);
  EXPECT_EQ(judgement.verdict, ReportVerdict::undecided);
  EXPECT_THAT(judgement.ended_early, HasSubstr("of 16777216 rows"));
  EXPECT_EQ(told, 2u);
  EXPECT_GT(judgement.judged, 0u);
  sample.outputs[0].set(3, 0.75);
  told = 0;
  judgement = judged(options);
  EXPECT_EQ(judgement.verdict, ReportVerdict::fail);
  EXPECT_EQ(judgement.failed, judgement.judged);
}

}  // namespace
}  // namespace softcheck::proptests
