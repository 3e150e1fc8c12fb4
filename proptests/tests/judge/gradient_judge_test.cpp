// Gradients of rows: results at hand, and what their kernels' words are found to be.
#include "judge/inference/contract_inference.hpp"
#include "judge/ops/rows/gradient_inputs.hpp"
#include "numerics/oracles/softmax_gradient.hpp"
#include "proptests/tests/judge/tensor_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

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

// Labelled full: GradientJudge.StoredProductsAreInferred
TEST(GradientJudge, StoredProductsAreInferred) {
  const KernelSubject subject =
      zoo_subject("correct_softmax_backward_products_stored", {.op = Op::softmax_backward, .format = Format::bf16});
  JudgeOptions options = quick_options();
  options.max_length = 4096;
  const Inference inference = infer_contract(subject, options);
  ASSERT_TRUE(inference.contract) << inference.failure;
  EXPECT_EQ(inference.contract->products, Format::bf16);
}

}  // namespace
}  // namespace softcheck::proptests
