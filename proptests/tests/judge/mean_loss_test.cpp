// The mean and the sum of the losses of a call's rows, and the gradient, at hand: what is counted, what divides, what a
// NaN and a call in which every row is ignored make of it.
#include "proptests/tests/judge/tensor_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

constexpr std::size_t mean_rows = 6, mean_classes = 5;
constexpr std::int64_t ignored_label = -100;

// Six rows of five logits, of which the third and the last are ignored.
struct MeanSample {
  explicit MeanSample(Format format = Format::f64)
      : logits(stored(format, {2, 3, 5}, sample_numbers(format, mean_rows * mean_classes, 6, 1))),
        weights(stored(format, {5}, {1, 0.5, 2, 0, 3})),
        upstream(stored(format, {}, {-0.75})) {}

  TensorTask task(Op op, bool mean, bool weighted = false) const {
    TensorTask task{.op = op, .inputs = {logits.held(), labels_held()}};
    if (op == Op::cross_entropy_mean_backward) task.inputs.push_back(upstream.held());
    if (weighted) task.inputs.push_back(weights.held());
    task.attributes.ignore_index = ignored_label;
    task.attributes.mean = mean;
    return task;
  }
  GivenTensor labels_held() const {
    return {reinterpret_cast<const std::byte*>(labels.data()), std::nullopt, {2, 3}, {3, 1}, 64};
  }
  double weight(bool weighted, std::size_t row) const {
    return weighted ? weights.at(static_cast<std::size_t>(labels[row])) : 1;
  }

  StoredTensor logits, weights, upstream;
  Shape labels{0, 4, ignored_label, 2, 1, ignored_label};
};

// By the definition, in long double.
struct PlainMean {
  PlainMean(const MeanSample& sample, bool mean, bool weighted, double smoothing = 0) {
    std::vector<long double> slopes(mean_rows * mean_classes);
    for (std::size_t r = 0; r < mean_rows; ++r) {
      if (sample.labels[r] == ignored_label) continue;
      const auto y = static_cast<std::size_t>(sample.labels[r]);
      long double sum = 0, all = 0, total = 0;
      for (std::size_t j = 0; j < mean_classes; ++j)
        sum += std::exp(static_cast<long double>(sample.logits.at(r * mean_classes + j)));
      const long double lse = std::log(sum);
      for (std::size_t j = 0; j < mean_classes; ++j) {
        const long double w = weighted ? sample.weights.at(j) : 1;
        all += w * (lse - sample.logits.at(r * mean_classes + j)) / mean_classes;
        total += w / mean_classes;
      }
      const long double w_y = sample.weight(weighted, r), s = smoothing;
      loss += (1 - s) * w_y * (lse - sample.logits.at(r * mean_classes + y)) + s * all;
      divisor += w_y;
      for (std::size_t j = 0; j < mean_classes; ++j) {
        const long double w = weighted ? sample.weights.at(j) : 1;
        const long double p = std::exp(sample.logits.at(r * mean_classes + j) - lse);
        slopes[r * mean_classes + j] =
            ((1 - s) * w_y + s * total) * p - (j == y ? (1 - s) * w_y : 0) - s * w / mean_classes;
      }
    }
    if (!mean) divisor = 1;
    loss /= divisor;
    for (const long double slope : slopes) gradient.push_back(sample.upstream.at(0) * slope / divisor);
  }
  long double loss = 0, divisor = 0;
  std::vector<long double> gradient;
};

TensorJudgement judged_mean(const TensorTask& task, const std::vector<double>& values, const std::string& words = "") {
  const Contract contract = contract_for(task, words);
  const StoredTensor output = stored(contract.output, output_shape(task), values);
  return judge_tensors(task, contract, std::vector{output.held()});
}

ReportVerdict verdict_of_mean(const TensorTask& task, double value, const std::string& words = "") {
  return judged_mean(task, {value}, words).verdict;
}

double ideal_mean(const TensorTask& task, const std::string& words = "") {
  return ideal_output(task, contract_for(task, words), 0, contract_for(task, words).output).at(0);
}

TEST(MeanLoss, IsThatOfTheRowsThatCount) {
  const MeanSample sample;
  for (const bool mean : {true, false}) {
    for (const bool weighted : {true, false}) {
      for (const double smoothing : {0.0, 0.25}) {
        const PlainMean plain(sample, mean, weighted, smoothing);
        TensorTask loss = sample.task(Op::cross_entropy_mean, mean, weighted);
        loss.attributes.label_smoothing = smoothing;
        const auto [lower, upper, allowed] = ElementBounds(loss, contract_for(loss, ""));
        // Long double keeps eleven bits more than the contract's f64.
        EXPECT_LE(std::fabs(lower[0] - static_cast<double>(plain.loss)), allowed[0]);
        EXPECT_LT(allowed[0], 0x1p-44);
        EXPECT_LE(lower[0], upper[0]);
        EXPECT_EQ(verdict_of_mean(loss, lower[0]), ReportVerdict::pass);
        EXPECT_EQ(verdict_of_mean(loss, lower[0] * (1 + 0x1p-40)), ReportVerdict::fail);
        TensorTask backward = sample.task(Op::cross_entropy_mean_backward, mean, weighted);
        backward.attributes.label_smoothing = smoothing;
        auto [low, high, granted] = ElementBounds(backward, contract_for(backward, ""));
        for (std::size_t i = 0; i < low.size(); ++i) {
          EXPECT_LE(std::fabs(low[i] - static_cast<double>(plain.gradient[i])), granted[i]) << i;
          EXPECT_LT(granted[i], 0x1p-44) << i;
        }
        EXPECT_EQ(judged_mean(backward, low).verdict, ReportVerdict::pass);
        EXPECT_EQ(judged_mean(backward, low).judged, mean_rows);
        for (double& value : low) value *= 1 + 0x1p-40;
        EXPECT_EQ(judged_mean(backward, low).verdict, ReportVerdict::fail);
      }
    }
  }
}

TEST(MeanLoss, AnotherDivisorIsFound) {
  const MeanSample sample(Format::f32);
  for (const bool weighted : {true, false}) {
    const TensorTask mean = sample.task(Op::cross_entropy_mean, true, weighted);
    const TensorTask sum = sample.task(Op::cross_entropy_mean, false, weighted);
    const double right = ideal_mean(mean), added = ideal_mean(sum);
    EXPECT_EQ(verdict_of_mean(mean, right), ReportVerdict::pass);
    for (const double divisor : {1.0, 4.0, 6.0}) {
      const bool is_right = !weighted && divisor == 4;
      EXPECT_EQ(verdict_of_mean(mean, added / divisor), is_right ? ReportVerdict::pass : ReportVerdict::fail);
    }
    EXPECT_EQ(verdict_of_mean(sum, added), ReportVerdict::pass);
    EXPECT_EQ(verdict_of_mean(sum, right), ReportVerdict::fail);
  }
}

TEST(MeanLoss, OfNothingIsAsTheContractSays) {
  MeanSample sample(Format::f32);
  sample.labels.assign(mean_rows, ignored_label);
  const TensorTask mean = sample.task(Op::cross_entropy_mean, true), sum = sample.task(Op::cross_entropy_mean, false);
  const auto claim = [&](const TensorTask& task, double value, const std::string& words) {
    return row_of_claim(judged_mean(task, {value}, words), "kernel.cross_entropy_mean.loss").verdict;
  };
  EXPECT_EQ(claim(mean, nan, "masked=nan"), ReportVerdict::pass);
  EXPECT_EQ(claim(mean, 0, "masked=nan"), ReportVerdict::fail);
  EXPECT_EQ(claim(mean, 0, "masked=zero"), ReportVerdict::pass);
  EXPECT_EQ(claim(mean, nan, "masked=zero"), ReportVerdict::fail);
  for (const char* words : {"masked=nan", "masked=zero"}) {
    EXPECT_EQ(claim(sum, 0, words), ReportVerdict::pass);
    EXPECT_EQ(claim(sum, nan, words), ReportVerdict::fail);
    const bool is_nan = std::isnan(ElementBounds(mean, contract_for(mean, words)).lower[0]);
    EXPECT_EQ(is_nan, std::string(words) == "masked=nan");
    EXPECT_EQ(ElementBounds(sum, contract_for(sum, words)).allowed[0], 0);
  }
  const TensorTask backward = sample.task(Op::cross_entropy_mean_backward, true);
  EXPECT_NE(judged_mean(backward, std::vector<double>(mean_rows * mean_classes)).verdict, ReportVerdict::fail);
  EXPECT_EQ(judged_mean(backward, std::vector<double>(mean_rows * mean_classes, nan)).verdict, ReportVerdict::fail);
}

TEST(MeanLoss, ANanReachesTheMeanUnlessItsRowIsIgnored) {
  MeanSample sample(Format::f32);
  const double right = ideal_mean(sample.task(Op::cross_entropy_mean, true));
  sample.logits.set(2 * mean_classes + 1, nan);  // an ignored row
  TensorTask mean = sample.task(Op::cross_entropy_mean, true);
  EXPECT_EQ(verdict_of_mean(mean, right), ReportVerdict::pass);
  EXPECT_EQ(verdict_of_mean(mean, nan), ReportVerdict::fail);
  sample.logits.set(1 * mean_classes + 1, nan);
  mean = sample.task(Op::cross_entropy_mean, true);
  EXPECT_EQ(row_of_claim(judged_mean(mean, {nan}), "kernel.nan_row").verdict, ReportVerdict::pass);
  EXPECT_EQ(verdict_of_mean(mean, right), ReportVerdict::fail);
  sample.logits.set(1 * mean_classes + 1, infinity);
  mean = sample.task(Op::cross_entropy_mean, true);
  EXPECT_EQ(judged_mean(mean, {1}).judged, 0u);
}

TEST(MeanLoss, WhoseWeightsAddUpToNothingIsNotJudged) {
  MeanSample sample(Format::f32);
  sample.labels = {3, 3, ignored_label, 3, 3, ignored_label};  // of weight 0
  EXPECT_EQ(judged_mean(sample.task(Op::cross_entropy_mean, true, true), {1}).judged, 0u);
  EXPECT_EQ(verdict_of_mean(sample.task(Op::cross_entropy_mean, false, true), 1), ReportVerdict::fail);
  const TensorTask backward = sample.task(Op::cross_entropy_mean_backward, true, true);
  std::vector<double> values(mean_rows * mean_classes, 7);
  EXPECT_EQ(judged_mean(backward, values).failed, 2u);  // those that are ignored are 0 all the same
}

TEST(MeanLoss, WhatDoesNotFitIsRefused) {
  const MeanSample sample(Format::f32);
  const auto refusal = [](const TensorTask& task) { return refusal_of([&] { judged_mean(task, {0}); }); };
  TensorTask task = sample.task(Op::cross_entropy_mean, true, true);
  EXPECT_EQ(refusal(task), "not refused");
  task.attributes.z_loss = 0.5;
  EXPECT_EQ(refusal(task).substr(0, 30), "z_loss: need 0 beside class_we");
  task = sample.task(Op::cross_entropy_mean_backward, true);
  const StoredTensor several = stored(Format::f32, {2, 3}, std::vector<double>(mean_rows, 1));
  task.inputs[2] = several.held();
  EXPECT_EQ(refusal(task), "upstream: need shape (1,), got (2, 3)");
  TensorTask plain{.op = Op::cross_entropy, .inputs = {sample.logits.held(), sample.labels_held()}};
  plain.attributes.mean = true;
  EXPECT_EQ(refusal(plain).substr(0, 13), "mean: need 0,");
}

// A call without rows has no logits, also in a domain of rows that are not empty.
TEST(MeanLoss, OfNoRowsIsJudgedInADomainOfLogits) {
  const KernelJudgement judgement = judged(
      zoo_subject(
          "correct_cross_entropy_mean",
          {.op = Op::cross_entropy_mean, .contract = "acc=f32 exp=1ulp sum=sequential masked=nan", .domain = "n>=1"}),
      {"AnEmptyCallHasItsValues"});
  ASSERT_EQ(judgement.properties.size(), 1U);
  EXPECT_EQ(judgement.properties[0].verdict, ReportVerdict::pass);
  EXPECT_GT(judgement.properties[0].outcome.claims.at("kernel.masked_row").decided, 0U);
}

// Its gradient has no value there: nothing of a row that shows nothing is left to decide.
TEST(MeanLoss, AGradientIsNotAskedForEmptyRowsOutsideItsDomain) {
  const KernelJudgement judgement = judged(
      zoo_subject("correct_cross_entropy_mean_backward", {.op = Op::cross_entropy_mean_backward,
                                                          .contract = "acc=f32 exp=1ulp sum=sequential masked=nan",
                                                          .domain = "n>=1 n<=64"}),
      {"EveryValueLiesWithinItsThreshold", "AnEmptyCallHasItsValues"});
  EXPECT_EQ(judgement.verdict, ReportVerdict::pass);
}

}  // namespace
}  // namespace softcheck::proptests
