// Top-k and merges at hand: an output of ids beside one of weights, and vectors beside log-sum-exps.
#include "proptests/tests/judge/tensor_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

struct TopkSample {
  StoredTensor logits, weights;
  std::vector<std::int32_t> narrow;
  Shape ids;
  TensorTask task;
  std::string words;

  TopkSample(Shape shape, const std::vector<double>& numbers, std::int32_t k, bool renormalize,
             Format format = Format::f32)
      : logits(stored(format, shape, numbers)) {
    task.op = Op::topk_softmax;
    task.inputs = {logits.held()};
    task.attributes.k = k;
    task.attributes.renormalize = renormalize;
    rewrite();
  }
  Contract contract() const { return contract_for(task, words, weights.format); }
  void rewrite() {
    const Contract plain = contract_for(task, "");
    weights = stored(plain.output, output_shape(task, 0), ideal_output(task, plain, 0, plain.output));
    ids.clear();
    for (const double id : ideal_output(task, plain, 1, Format::f64)) ids.push_back(static_cast<std::int64_t>(id));
  }
  GivenTensor given_ids() const {
    GivenTensor held;
    held.first = reinterpret_cast<const std::byte*>(ids.data());
    held.shape = output_shape(task, 1);
    held.strides.assign(held.shape.size(), 1);
    for (std::size_t d = held.shape.size(); d-- > 1;) held.strides[d - 1] = held.strides[d] * held.shape[d];
    held.integer_bits = 64;
    return held;
  }
  TensorJudgement judged() const { return judge_tensors(task, contract(), std::vector{weights.held(), given_ids()}); }
  ReportVerdict verdict() const { return judged().verdict; }
};

TEST(TensorTopk, TheLargestPassInEveryDtypeAndWidthOfIds) {
  for (const Format format : wide_formats) {
    for (const bool renormalize : {false, true}) {
      TopkSample sample({2, 3, 9}, sample_numbers(format, 54, 6, 3), 4, renormalize, format);
      EXPECT_EQ(sample.verdict(), ReportVerdict::pass) << details_text(sample.judged());
      EXPECT_EQ(sample.judged().judged, 6u);
      EXPECT_EQ(sample.weights.format, format == Format::f64 ? Format::f64 : Format::f32);
      GivenTensor narrow = sample.given_ids();
      sample.narrow.assign(sample.ids.begin(), sample.ids.end());
      narrow.first = reinterpret_cast<const std::byte*>(sample.narrow.data());
      narrow.integer_bits = 32;
      EXPECT_EQ(judge_tensors(sample.task, sample.contract(), std::vector{sample.weights.held(), narrow}).verdict,
                ReportVerdict::pass);
    }
  }
}

TEST(TensorTopk, IdsAreExchangedInATieAndNotBeyondIt) {
  // Items 1 and 3 are equal, 2 is far below.
  TopkSample sample({1, 4}, {0, 5, 3, 5}, 2, false);
  EXPECT_EQ(sample.ids, (Shape{1, 3}));
  std::swap(sample.ids[0], sample.ids[1]);
  EXPECT_EQ(sample.verdict(), ReportVerdict::pass);
  sample.words = "ties=lowest";
  EXPECT_EQ(sample.verdict(), ReportVerdict::fail);
  sample.words = "";
  sample.ids = {1, 2};
  TensorJudgement judgement = sample.judged();
  EXPECT_EQ(row_of_claim(judgement, "kernel.topk_softmax.ids").verdict, ReportVerdict::fail);
  // The other order of two that differ.
  TopkSample ordered({1, 4}, {0, 5, 3, 4}, 2, false);
  std::swap(ordered.ids[0], ordered.ids[1]);
  judgement = ordered.judged();
  EXPECT_EQ(row_of_claim(judgement, "kernel.topk_softmax.order").verdict, ReportVerdict::fail);
  EXPECT_EQ(row_of_claim(judgement, "kernel.topk_softmax.weight").verdict, ReportVerdict::fail);
  ordered.ids = {1, 1};
  EXPECT_EQ(ordered.verdict(), ReportVerdict::fail);
  ordered.ids = {1, 4};
  EXPECT_EQ(ordered.verdict(), ReportVerdict::fail);
}

TEST(TensorTopk, WeightsAreThoseOfTheTask) {
  TopkSample sample({2, 9}, sample_numbers(Format::f32, 18, 2, 5), 3, true);
  const StoredTensor renormalised = sample.weights;
  sample.task.attributes.renormalize = false;
  EXPECT_EQ(sample.verdict(), ReportVerdict::fail);
  sample.rewrite();
  EXPECT_EQ(sample.verdict(), ReportVerdict::pass);
  for (const double factor : {-1.0, 0.0, 1000.0, 1.0001}) {
    TopkSample wrong = sample;
    wrong.weights.set(4, factor * wrong.weights.at(4));
    const TensorJudgement judgement = wrong.judged();
    EXPECT_EQ(judgement.failed, 1u) << factor;
    EXPECT_EQ(judgement.worst.at(0).index, (Shape{1}));
    EXPECT_EQ(judgement.worst.at(0).finding.item, 1u);
  }
  const std::vector<double> allowed = ElementBounds(sample.task, sample.contract()).allowed,
                            of_ids = ElementBounds(sample.task, sample.contract(), 1).allowed;
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_GT(allowed[i], 0);
    EXPECT_LT(allowed[i], sample.weights.at(i));
    EXPECT_TRUE(std::isnan(of_ids[i]));
  }
}

TEST(TensorTopk, RowsOfNanAndOfNothingHaveAnyItems) {
  TopkSample sample({3, 4}, {0, nan, 3, 5, -infinity, -infinity, -infinity, -infinity, 1, 2, infinity, 4}, 2, false);
  for (std::size_t i = 0; i < 2; ++i) sample.weights.set(i, nan);
  sample.ids = {3, 3, 0, 1, 2, 3};
  sample.words = "masked=zero";
  for (std::size_t i = 2; i < 4; ++i) sample.weights.set(i, 0);
  TensorJudgement judgement = sample.judged();
  EXPECT_EQ(judgement.judged, 2u);  // of a row with +inf nothing is promised
  EXPECT_EQ(row_of_claim(judgement, "kernel.nan_row").verdict, ReportVerdict::pass);
  EXPECT_EQ(row_of_claim(judgement, "kernel.masked_row").verdict, ReportVerdict::pass);
  sample.ids[0] = -1;
  EXPECT_EQ(row_of_claim(sample.judged(), "kernel.nan_row").verdict, ReportVerdict::fail);
  sample.ids[0] = 0;
  sample.weights.set(0, 0.5);
  EXPECT_EQ(row_of_claim(sample.judged(), "kernel.nan_row").verdict, ReportVerdict::fail);
}

TEST(TensorTopk, WhatDoesNotFitIsRefused) {
  const TopkSample sample({2, 9}, sample_numbers(Format::f32, 18, 2, 5), 3, false);
  const auto refused = [&](std::int32_t k, const std::vector<GivenTensor>& outputs) {
    TensorTask task = sample.task;
    task.attributes.k = k;
    return refusal_of([&] { judge_tensors(task, contract_for(task, ""), outputs); });
  };
  const GivenTensor weights = sample.weights.held(), ids = sample.given_ids();
  EXPECT_EQ(refused(3, {weights, ids}), "not refused");
  EXPECT_EQ(refused(3, {weights}), "outputs: need weights, ids, got 1 tensors");
  EXPECT_EQ(refused(3, {weights, weights}), "ids: need dtype int32 or int64, got f32");
  EXPECT_EQ(refused(4, {weights, ids}), "weights: need shape (2, 4), got (2, 3)");
  EXPECT_EQ(refused(0, {weights, ids}), "k: need a number of items from 1 to 9, got 0");
  EXPECT_EQ(refused(10, {weights, ids}), "k: need a number of items from 1 to 9, got 10");
}

// Three parts of two by two rows of four numbers; one part of the first row is empty.
struct MergeSample : TensorSample {
  StoredTensor out, lse;

  explicit MergeSample(Format format = Format::f32, bool base_2 = false, SampleLayout layout = SampleLayout::compact)
      : out(filled(format, {3, 2, 2, 4}, 2, 1, layout)),
        lse(stored(wide_format(format), {3, 2, 2}, sample_numbers(Format::f32, 12, 4, 2), layout)) {
    lse.set(4, -infinity);
    for (std::size_t c = 0; c < 4; ++c) out.set(16 + c, nan);
    task.op = Op::merge_states;
    task.attributes.lse_base2 = base_2;
    hold();
    rewrite_by("");
  }
  void hold() { task.inputs = {out.held(), lse.held()}; }
  std::vector<std::size_t> numbers() const override { return {0, 1}; }
  Format format_of(std::size_t which) const override { return which == 0 ? out.format : lse.format; }
  void rewrite_by(const char* words) {
    contract = contract_for(task, words);
    rewrite();
  }
};

TEST(TensorMerge, WhatIsRoundedCorrectlyPassesInEveryDtypeBaseAndLayout) {
  for (const Format format : wide_formats) {
    for (const bool base_2 : {false, true}) {
      for (const SampleLayout layout : sample_layouts) {
        const MergeSample sample(format, base_2, layout);
        const TensorJudgement judgement = sample.judged();
        EXPECT_TRUE(passes(judgement));
        EXPECT_EQ(judgement.judged, 4u);
      }
    }
  }
}

TEST(TensorMerge, PartsComeFirstAndRowsBehindThem) {
  // Two parts of two rows: the second row's parts weigh the same, of the first one's the second is empty.
  const StoredTensor out = stored(Format::f64, {2, 2, 3}, {1, 2, 3, 4, 6, 8, nan, nan, nan, 8, 2, 16});
  const StoredTensor lse = stored(Format::f64, {2, 2}, {0.5, 3, -infinity, 3});
  const TensorTask task{.op = Op::merge_states, .inputs = {out.held(), lse.held()}, .attributes = {.lse_base2 = true}};
  EXPECT_EQ(ideal_output(task, contract_for(task, ""), 0, Format::f64), (std::vector<double>{1, 2, 3, 6, 4, 12}));
  EXPECT_EQ(ideal_output(task, contract_for(task, ""), 1, Format::f64), (std::vector<double>{0.5, 4}));
}

TEST(TensorMerge, TheOtherBaseFails) {
  for (const bool base_2 : {false, true}) {
    MergeSample sample(Format::f32, base_2);
    sample.task.attributes.lse_base2 = !base_2;
    const TensorJudgement judgement = sample.judged();
    EXPECT_EQ(judgement.failed, 4u);
    EXPECT_EQ(row_of_claim(judgement, "kernel.merge_states.out").verdict, ReportVerdict::fail);
    EXPECT_EQ(row_of_claim(judgement, "kernel.merge_states.lse").verdict, ReportVerdict::fail);
  }
}

TEST(TensorMerge, AWrongValueIsShownAtItsPlace) {
  MergeSample sample;
  sample.outputs[0].set(13, sample.outputs[0].at(13) + 0x1p-8);
  TensorJudgement judgement = sample.judged();
  EXPECT_EQ(judgement.failed, 1u);
  EXPECT_EQ(judgement.worst.at(0).index, (Shape{1, 1}));
  EXPECT_EQ(judgement.worst.at(0).finding.item, 1u);
  EXPECT_EQ(judgement.worst.at(0).finding.claim, "kernel.merge_states.out");
  sample.rewrite();
  sample.outputs[1].set(2, sample.outputs[1].at(2) + 0x1p-8);
  judgement = sample.judged();
  EXPECT_EQ(judgement.worst.at(0).index, (Shape{1, 0}));
  EXPECT_EQ(judgement.worst.at(0).finding.claim, "kernel.merge_states.lse");
  for (const std::size_t which : {0, 1}) {
    for (const double allowed : ElementBounds(sample.task, sample.contract, which).allowed) {
      EXPECT_TRUE(allowed > 0 && allowed < 0x1p-16) << allowed;
    }
  }
}

TEST(TensorMerge, EmptyPartsAreNotReadAndAllOfThemAreMasked) {
  MergeSample sample;
  for (std::size_t part = 0; part < 3; ++part) sample.lse.set(part * 4 + 3, -infinity);
  sample.hold();
  sample.rewrite_by("masked=zero");
  EXPECT_EQ(sample.outputs[1].at(3), -infinity);
  EXPECT_EQ(sample.outputs[0].at(12), 0);
  TensorJudgement judgement = sample.judged();
  EXPECT_TRUE(passes(judgement));
  EXPECT_EQ(row_of_claim(judgement, "kernel.masked_row").cases, 1u);
  sample.outputs[0].set(12, nan);
  EXPECT_EQ(sample.judged().verdict, ReportVerdict::fail);
  sample.rewrite_by("masked=nan");
  EXPECT_TRUE(std::isnan(sample.outputs[0].at(12)));
  EXPECT_TRUE(passes(sample.judged()));
  // A NaN log-sum-exp makes its row NaN; of a NaN in a part that is there nothing is said.
  sample.lse.set(2, nan);
  sample.out.set(4, nan);
  sample.hold();
  judgement = sample.judged();
  EXPECT_EQ(judgement.judged, 3u);
  EXPECT_EQ(row_of_claim(judgement, "kernel.nan_row").verdict, ReportVerdict::fail);
}

TEST(TensorMerge, WhatDoesNotFitIsRefused) {
  const MergeSample sample, half(Format::f16);
  const auto refused = [&](const std::vector<GivenTensor>& inputs) {
    TensorTask task = sample.task;
    task.inputs = inputs;
    return refusal_of([&] { output_shape(task, 1); });
  };
  EXPECT_EQ(refused({sample.out.held(), sample.lse.held()}), "not refused");
  EXPECT_EQ(refused({sample.lse.held(), sample.out.held()}), "out: need shape (3, 2, 2, 4, 2), got (3, 2, 2)");
  EXPECT_EQ(refused({sample.out.held()}), "inputs: need out, lse, got 1 tensors");
  EXPECT_EQ(refused({half.out.held(), half.out.held()}), "lse: need dtype f32, as out is f16, got f16");
  const std::vector<GivenTensor> outputs{sample.outputs[0].held(), half.outputs[0].held()};
  EXPECT_EQ(refusal_of([&] { judge_tensors(sample.task, sample.contract, outputs); }),
            "lse: need dtype f32, as the inputs are f32, got f16");
}

}  // namespace
}  // namespace softcheck::proptests
