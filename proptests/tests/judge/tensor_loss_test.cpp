// Losses and their gradients at hand: labels are integers, and rows of ignore_index are 0.
#include "judge/ops/rows/gradient_inputs.hpp"
#include "numerics/oracles/softmax_gradient.hpp"
#include "proptests/tests/judge/tensor_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

// Labels of int64 or int32, at a stride.
template <class Integer>
struct Labels {
  explicit Labels(const Shape& labels, std::int64_t stride = 1)
      : memory(labels.size() * static_cast<std::size_t>(stride), -7),
        held{reinterpret_cast<const std::byte*>(memory.data()),
             std::nullopt,
             {static_cast<std::int64_t>(labels.size())},
             {stride},
             8 * sizeof(Integer)} {
    for (std::size_t i = 0; i < labels.size(); ++i) {
      memory[i * static_cast<std::size_t>(stride)] = static_cast<Integer>(labels[i]);
    }
  }

  std::vector<Integer> memory;
  GivenTensor held;
};

// Four rows of five logits; the third row's label is ignored.
struct Sample {
  StoredTensor logits = stored(Format::f32, {4, 5}, sample_numbers(Format::f32, 20, 8, 1));
  Labels<std::int64_t> labels{{0, 4, -100, 2}};
  StoredTensor upstream = stored(Format::f32, {4}, {1, -2, 0.5, 3});
  TensorTask loss{.op = Op::cross_entropy, .inputs = {logits.held(), labels.held}};
  TensorTask gradient{.op = Op::cross_entropy_backward, .inputs = {logits.held(), labels.held, upstream.held()}};
};

std::vector<double> ideal(const TensorTask& task) { return ideal_output(task, contract_for(task, ""), 0, Format::f32); }

ReportVerdict verdict_of(const TensorTask& task, const std::vector<double>& values) {
  const StoredTensor output = stored(Format::f32, output_shape(task), values);
  return judge_tensors(task, contract_for(task, ""), std::vector{output.held()}).verdict;
}

std::string loss_refusal(const TensorTask& task) {
  return refusal_of([&] { verdict_of(task, {}); });
}

TEST(TensorLoss, IsZeroWhereIgnoredAndAnotherLabelsElsewhere) {
  Sample sample;
  std::vector<double> losses = ideal(sample.loss);
  ASSERT_EQ(losses.size(), 4u);
  EXPECT_EQ(losses[2], 0);
  EXPECT_EQ(verdict_of(sample.loss, losses), ReportVerdict::pass);
  losses[2] = 0x1p-140;
  EXPECT_EQ(verdict_of(sample.loss, losses), ReportVerdict::fail);
  // Every other label of the last row has another loss.
  const std::vector<double> right = ideal(sample.loss);
  for (const std::int64_t other : {0, 1, 3, 4}) {
    const Labels<std::int64_t> labels({0, 4, -100, other});
    sample.loss.inputs[1] = labels.held;
    EXPECT_EQ(verdict_of(sample.loss, right), ReportVerdict::fail) << other;
  }
}

TEST(TensorLoss, LabelsAreReadInBothWidthsAndAtAnyStride) {
  Sample sample;
  const std::vector<double> right = ideal(sample.loss), gradients = ideal(sample.gradient);
  const Labels<std::int32_t> narrow({0, 4, -100, 2}, 3);
  const Labels<std::int64_t> wide({0, 4, -100, 2}, 2);
  for (const GivenTensor& labels : {narrow.held, wide.held}) {
    sample.loss.inputs[1] = sample.gradient.inputs[1] = labels;
    EXPECT_EQ(verdict_of(sample.loss, right), ReportVerdict::pass);
    EXPECT_EQ(verdict_of(sample.gradient, gradients), ReportVerdict::pass);
  }
}

TEST(TensorLoss, AttributesAreThoseOfTheTask) {
  Sample sample;
  const std::vector<double> plain = ideal(sample.loss);
  for (const Attributes& attributes :
       {Attributes{.label_smoothing = 0.25, .ignore_index = -100}, Attributes{.z_loss = 0.5, .ignore_index = -100}}) {
    sample.loss.attributes = attributes;
    EXPECT_EQ(verdict_of(sample.loss, ideal(sample.loss)), ReportVerdict::pass);
    EXPECT_EQ(verdict_of(sample.loss, plain), ReportVerdict::fail);
  }
  // Then the second row is the one that is ignored.
  const Labels<std::int64_t> labels({0, 4, 1, 2});
  sample.loss.inputs[1] = labels.held;
  sample.loss.attributes = {.ignore_index = 4};
  EXPECT_EQ(ideal(sample.loss)[1], 0);
  std::vector<double> granted(4, nan);
  thresholds(sample.loss, contract_for(sample.loss, ""), 0, granted);
  EXPECT_EQ(granted[1], 0);
  EXPECT_GT(granted[0], 0);
}

TEST(TensorLoss, EachRowsGradientIsTimesItsOwnUpstream) {
  Sample sample;
  std::vector<double> gradients = ideal(sample.gradient);
  EXPECT_EQ(verdict_of(sample.gradient, gradients), ReportVerdict::pass);
  for (std::size_t i = 5; i < 10; ++i) gradients[i] = -gradients[i] / 2;  // as if it were the first row's
  EXPECT_EQ(verdict_of(sample.gradient, gradients), ReportVerdict::fail);
}

TEST(TensorLoss, ASoftcapIsThatOfTheTask) {
  Sample sample;
  const std::vector<double> plain = ideal(sample.loss), gradients = ideal(sample.gradient);
  sample.loss.attributes.softcap = sample.gradient.attributes.softcap = 3;
  EXPECT_EQ(verdict_of(sample.loss, ideal(sample.loss)), ReportVerdict::pass);
  EXPECT_EQ(verdict_of(sample.loss, plain), ReportVerdict::fail);
  EXPECT_EQ(verdict_of(sample.gradient, ideal(sample.gradient)), ReportVerdict::pass);
  EXPECT_EQ(verdict_of(sample.gradient, gradients), ReportVerdict::fail);
}

TEST(TensorLoss, ClassWeightsStandBehindTheOtherInputs) {
  Sample sample;
  const StoredTensor weights = stored(Format::f32, {5}, {1, 2, 0.5, 0, 3}),
                     others = stored(Format::f32, {5}, {1, 1, 1, 1, 1});
  const std::vector<double> plain = ideal(sample.loss), gradients = ideal(sample.gradient);
  sample.loss.inputs.push_back(weights.held());
  sample.gradient.inputs.push_back(weights.held());
  const std::vector<double> losses = ideal(sample.loss);
  EXPECT_EQ(losses[0], plain[0]);  // w_0 = 1
  EXPECT_EQ(losses[2], 0);
  EXPECT_EQ(verdict_of(sample.loss, losses), ReportVerdict::pass);
  EXPECT_EQ(verdict_of(sample.loss, plain), ReportVerdict::fail);
  EXPECT_EQ(verdict_of(sample.gradient, ideal(sample.gradient)), ReportVerdict::pass);
  EXPECT_EQ(verdict_of(sample.gradient, gradients), ReportVerdict::fail);
  sample.loss.inputs[2] = others.held();
  EXPECT_EQ(verdict_of(sample.loss, plain), ReportVerdict::pass);
}

TEST(TensorLoss, WhatIsNoClassWeightIsRefused) {
  Sample sample;
  const auto with = [&](const StoredTensor& weights) {
    TensorTask task = sample.loss;
    task.inputs.push_back(weights.held());
    return loss_refusal(task);
  };
  EXPECT_EQ(with(stored(Format::f32, {4}, {1, 1, 1, 1})), "class_weights: need shape (5,), got (4,)");
  EXPECT_EQ(with(stored(Format::f32, {5}, {1, 1, -1, 1, 1})),
            "class_weights: need finite numbers >= 0, got -1 at (2,)");
  EXPECT_EQ(with(stored(Format::f64, {5}, {1, 1, 1, 1, 1})),
            "class_weights: need dtype f32, as logits has it, got f64");
  TensorTask task = sample.loss;
  task.attributes.softcap = -1;
  EXPECT_EQ(loss_refusal(task), "softcap: need a finite number >= 0, got -1");
  task.inputs.resize(1);
  EXPECT_EQ(loss_refusal(task), "inputs: need logits, labels[, class_weights], got 1 tensors");
}

TEST(TensorLoss, OfEqualLogitsIsTheirNumbersLogarithm) {
  const StoredTensor logits = stored(Format::f64, {1, 4}, {2, 2, 2, 2});
  const Labels<std::int64_t> labels({3});
  const TensorTask task{.op = Op::cross_entropy, .inputs = {logits.held(), labels.held}};
  std::vector<double> lower(1), upper(1);
  reference(task, contract_for(task, ""), 0, lower, upper);
  const double once = std::log(4.0);  // 2 ln 2, whose nearest double it is to within one
  EXPECT_LE(lower[0], std::nextafter(once, infinity));
  EXPECT_GE(upper[0], std::nextafter(once, -infinity));
  EXPECT_LE(upper[0], std::nextafter(std::nextafter(lower[0], 2.0), 2.0));
}

TEST(TensorLoss, ANanInAnIgnoredRowHasNoEffect) {
  Sample sample;
  std::vector<double> losses = ideal(sample.loss), gradients = ideal(sample.gradient);
  sample.logits.set(10, nan);
  sample.loss.inputs[0] = sample.gradient.inputs[0] = sample.logits.held();
  EXPECT_EQ(verdict_of(sample.loss, losses), ReportVerdict::pass);
  EXPECT_EQ(verdict_of(sample.gradient, gradients), ReportVerdict::pass);
  losses[2] = gradients[10] = nan;
  EXPECT_EQ(verdict_of(sample.loss, losses), ReportVerdict::fail);
  EXPECT_EQ(verdict_of(sample.gradient, gradients), ReportVerdict::fail);
}

TEST(TensorLoss, WhatIsNoLabelIsRefusedWithItsPlace) {
  Sample sample;
  for (const std::int64_t wrong : {std::int64_t{5}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    const Labels<std::int64_t> labels({0, wrong, -100, 2});
    sample.loss.inputs[1] = labels.held;
    EXPECT_EQ(loss_refusal(sample.loss),
              "labels: need one of 5 classes, or ignore_index -100, got " + std::to_string(wrong) + " at (1,)");
  }
  const Labels<std::int64_t> fewer({0, 1, 2});
  sample.loss.inputs[1] = fewer.held;
  EXPECT_EQ(loss_refusal(sample.loss), "labels: need shape (4,), got (3,)");
  sample.loss.inputs[1] = sample.upstream.held();
  EXPECT_EQ(loss_refusal(sample.loss), "labels: need dtype int32 or int64, got f32");
  Sample other;
  other.loss.attributes.label_smoothing = 1.5;
  EXPECT_EQ(loss_refusal(other.loss), "label_smoothing: need a number in [0, 1], got 1.5");
  other.loss = {.op = Op::softmax, .inputs = {other.logits.held()}, .attributes = {.z_loss = 1}};
  EXPECT_EQ(loss_refusal(other.loss), "z_loss: need 0, as softmax has none, got 1");
  other.loss = {.op = Op::softmax, .inputs = {other.labels.held}};
  EXPECT_EQ(loss_refusal(other.loss), "logits: need dtype " + numerics::format_names() + ", got int64");
}

// A row of which nothing is promised passes neither alone nor among others.
TEST(TensorLoss, ADivergenceFromNothingIsNotJudged) {
  const StoredTensor logits = stored(Format::f32, {2, 2}, {0, 1, 1, 2}),
                     teacher = stored(Format::f32, {2, 2}, {-infinity, -infinity, 3, 4}),
                     output = stored(Format::f32, {2}, {0.25, 0});
  TensorTask task{.op = Op::kl_divergence, .inputs = {logits.held(), teacher.held()}};
  const TensorJudgement both = judge_tensors(task, contract_for(task, ""), std::vector{output.held()});
  EXPECT_EQ(both.verdict, ReportVerdict::pass);
  EXPECT_EQ(both.judged, 1u);
  EXPECT_EQ(both.rows.back().details,
            std::vector<std::string>{"1 row not judged: a row with an infinity, of which the ABI promises nothing"});
  const StoredTensor one = stored(Format::f32, {1, 2}, {0, 1}),
                     hidden = stored(Format::f32, {1, 2}, {-infinity, -infinity});
  task.inputs = {one.held(), hidden.held()};
  EXPECT_EQ(verdict_of(task, {0.25}), ReportVerdict::vacuous);
}

// Gradients of rows: results at hand, and what their kernels' words are found to be.

// Saved outputs, upstream gradients and what a kernel without an error makes of them.
struct GradientSample : TensorSample {
  StoredTensor saved, upstream;

  GradientSample(Op op, Format format, const Shape& shape, SampleLayout layout = SampleLayout::compact) {
    std::vector<double> y = sample_numbers(format, elements_of(shape), 1, 21);
    if (op == Op::softmax_backward) {
      for (double& one : y) one = round_to(format, std::fabs(one));
    }
    saved = stored(format, shape, y, layout);
    upstream = filled(format, shape, 3, 22, layout);
    task = {.op = op, .inputs = {saved.held(), upstream.held()}};
    contract = contract_for(task, "sum=tree");
    rewrite(layout);
  }
};

// Of two numbers in four with a shift, as a kernel may be given what is no logarithm of a softmax.
TEST(GradientJudge, SavedLogarithmsAreThoseOfTheirLogits) {
  const std::vector<double> logits{7, -1000};
  EXPECT_EQ(saved_log_softmax(Format::f32, logits, 0), (std::vector<double>{0, -1007}));
  EXPECT_EQ(saved_log_softmax(Format::f32, logits, 16), (std::vector<double>{0, -1007}));
  EXPECT_EQ(saved_log_softmax(Format::f32, logits, 32), (std::vector<double>{-0.5, -1007.5}));
  EXPECT_EQ(saved_log_softmax(Format::f32, logits, 48), (std::vector<double>{0.25, -1006.75}));
}

TEST(GradientJudge, WhatIsRoundedCorrectlyPassesInEveryDtypeAndLayout) {
  for (const Op op : {Op::softmax_backward, Op::log_softmax_backward}) {
    for (const Format format : wide_formats) {
      for (const SampleLayout layout : sample_layouts) {
        const TensorJudgement judgement = GradientSample(op, format, {2, 3, 8}, layout).judged();
        EXPECT_TRUE(passes(judgement));
        EXPECT_EQ(judgement.judged, 6u);
      }
    }
  }
}

TEST(GradientJudge, EveryRowIsJudgedByItsOwnUpstreamGradient) {
  GradientSample sample(Op::softmax_backward, Format::f32, {4, 5});
  // What row 0's gradient makes of row 2.
  std::vector<double> y, g;
  for (std::size_t i = 0; i < 5; ++i) {
    y.push_back(sample.saved.at(10 + i));
    g.push_back(sample.upstream.at(i));
  }
  const SoftmaxGradientOracle oracle(y, g);
  for (std::size_t i = 0; i < 5; ++i) sample.outputs[0].set(10 + i, oracle.gradient(i).midpoint());
  const TensorJudgement judgement = sample.judged();
  EXPECT_EQ(judgement.verdict, ReportVerdict::fail);
  EXPECT_EQ(judgement.failed, 1u);
  EXPECT_EQ(judgement.worst.at(0).index, (Shape{2}));
}

TEST(GradientJudge, ANanOfTheSavedLogarithmFillsItsOwnItemAlone) {
  GradientSample sample(Op::log_softmax_backward, Format::f32, {3, 4});
  sample.saved.set(1, nan);
  TensorJudgement judgement = sample.judged();
  EXPECT_EQ(row_of_claim(judgement, "kernel.nan_row").verdict, ReportVerdict::fail);
  EXPECT_EQ(judgement.worst.at(0).index, (Shape{0}));
  sample.outputs[0].set(1, nan);
  judgement = sample.judged();
  EXPECT_TRUE(passes(judgement));
  EXPECT_EQ(judgement.judged, 3u);
  // The row's other items are judged.
  const double right = sample.outputs[0].at(2);
  sample.outputs[0].set(2, right + 1);
  EXPECT_EQ(sample.judged().verdict, ReportVerdict::fail);
  sample.outputs[0].set(2, right);
  sample.upstream.set(5, nan);
  EXPECT_EQ(row_of_claim(sample.judged(), "kernel.nan_row").verdict, ReportVerdict::fail);
  for (std::size_t i = 4; i < 8; ++i) sample.outputs[0].set(i, nan);
  EXPECT_TRUE(passes(sample.judged()));
}

TEST(GradientJudge, RowsWithoutItemsHaveReferencesWithoutValues) {
  for (const Op op : {Op::softmax_backward, Op::log_softmax_backward}) {
    const GradientSample sample(op, Format::f32, {2, 0});
    EXPECT_LE(sample.judged().judged, 2u);
    EXPECT_NO_THROW(thresholds(sample.task, sample.contract, 0, {}));
  }
}

TEST(GradientJudge, OneItemBeyondTheRangeOfExpLeavesTheOthersTheirThresholds) {
  GradientSample sample(Op::log_softmax_backward, Format::f64, {1, 3});
  sample.saved.set(0, 12000);
  sample.upstream.set(0, 1);
  sample.upstream.set(1, -1);
  sample.upstream.set(2, 0);
  for (std::size_t i = 0; i < 3; ++i) sample.outputs[0].set(i, sample.upstream.at(i));
  TensorJudgement judgement = sample.judged();
  EXPECT_TRUE(passes(judgement));
  sample.outputs[0].set(1, 1);
  EXPECT_EQ(sample.judged().verdict, ReportVerdict::fail);
}

TEST(GradientJudge, ASumBeyondTheDoublesLeavesAnItemThatItDoesNotMeet) {
  constexpr double largest = std::numeric_limits<double>::max();
  GradientSample sample(Op::softmax_backward, Format::f64, {1, 3});
  const double saved[] = {1, largest, 0}, upstream[] = {1, 4, 2}, gradients[] = {-infinity, -infinity, 0};
  for (std::size_t i = 0; i < 3; ++i) {
    sample.saved.set(i, saved[i]);
    sample.upstream.set(i, upstream[i]);
    sample.outputs[0].set(i, gradients[i]);
  }
  EXPECT_EQ(sample.judged().failed, 0u) << details_text(sample.judged());
  sample.outputs[0].set(2, 1);
  EXPECT_EQ(sample.judged().verdict, ReportVerdict::fail);
  // Values beyond the doubles have thresholds where the contract flushes, too.
  double allowed[3];
  EXPECT_NO_THROW(thresholds(sample.task, contract_for(sample.task, "acc=f32"), 0, allowed));

  GradientSample logarithms(Op::log_softmax_backward, Format::f64, {1, 3});
  for (std::size_t i = 0; i < 3; ++i) {
    logarithms.saved.set(i, i == 0 ? -largest : 0);
    logarithms.upstream.set(i, i == 0 ? 1 : largest);
    logarithms.outputs[0].set(i, i == 0 ? 1 : -largest);
  }
  EXPECT_EQ(logarithms.judged().failed, 0u) << details_text(logarithms.judged());
}

TEST(GradientJudge, ANanOfEitherInputIsDueAndAnInfinityPromisesNothing) {
  GradientSample sample(Op::softmax_backward, Format::f32, {3, 4});
  sample.upstream.set(1, nan);
  sample.upstream.set(6, infinity);
  TensorJudgement judgement = sample.judged();
  EXPECT_EQ(row_of_claim(judgement, "kernel.nan_row").verdict, ReportVerdict::fail);
  for (std::size_t i = 0; i < 4; ++i) sample.outputs[0].set(i, nan);
  judgement = sample.judged();
  EXPECT_TRUE(passes(judgement));
  EXPECT_EQ(judgement.judged, 2u);
}

// The logarithm of 0, as a masked item's is: e^-inf times a finite sum is 0, so that g is due, and as a number of the
// output's format it is due exactly.
TEST(GradientJudge, ASavedLogarithmOfMinusInfinityLeavesItsGradientAlone) {
  for (const Format format : wide_formats) {
    GradientSample sample(Op::log_softmax_backward, format, {2, 4});
    for (const std::size_t i : {1, 4, 5, 6, 7}) {  // of the second row all
      sample.saved.set(i, -infinity);
      sample.outputs[0].set(i, sample.upstream.at(i));
    }
    TensorJudgement judgement = sample.judged();
    EXPECT_TRUE(passes(judgement));
    EXPECT_EQ(judgement.judged, 2u);
    const auto [lower, upper, allowed] = ElementBounds(sample.task, sample.contract);
    for (const std::size_t i : {1, 5}) {
      const double g = sample.upstream.at(i);
      EXPECT_EQ(lower[i], g);
      EXPECT_EQ(upper[i], g);
      EXPECT_GT(allowed[i], 0);
      EXPECT_LT(allowed[i], 4 * properties(format).unit_roundoff * std::fabs(g));
      for (const double wrong : {0.0, -g, g * (1 + 16 * properties(format).unit_roundoff), nan, infinity}) {
        sample.outputs[0].set(i, wrong);
        EXPECT_EQ(sample.judged().failed, 1u) << wrong << " for " << g;
      }
      sample.outputs[0].set(i, g);
    }
    // The exact gradient would be infinity times 0. The judge leaves such rows out, and the report says so.
    sample.upstream.set(0, infinity);
    judgement = sample.judged();
    EXPECT_EQ(judgement.judged, 1u);
    EXPECT_THAT(details_text(judgement), HasSubstr("1 row not judged"));
    // A NaN reaches the items of weight 0, too.
    sample.upstream.set(0, nan);
    EXPECT_EQ(row_of_claim(sample.judged(), "kernel.nan_row").verdict, ReportVerdict::fail);
    // The logarithm of infinity is no saved one.
    sample.upstream.set(0, 1);
    sample.saved.set(0, infinity);
    EXPECT_EQ(sample.judged().judged, 1u);
  }
}

TEST(GradientJudge, AnInputOfAnotherShapeIsRefused) {
  const GradientSample sample(Op::softmax_backward, Format::f32, {3, 4}),
      other(Op::softmax_backward, Format::f32, {3, 5});
  const TensorTask task{.op = Op::softmax_backward, .inputs = {sample.saved.held(), other.upstream.held()}};
  EXPECT_THROW(judge_tensors(task, sample.contract, std::vector{sample.outputs[0].held()}), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::proptests
