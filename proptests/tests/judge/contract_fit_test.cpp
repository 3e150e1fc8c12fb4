// Results that fail by their contract: another one is named that all rows keep, or that none does.
#include "judge/results/contract_fit.hpp"

#include "proptests/tests/judge/tensor_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

constexpr double ample_seconds = 1000;

// A softmax of f32 by the words, and its right output, to be spoiled.
struct FitSample : TensorSample {
  StoredTensor logits, mask;

  explicit FitSample(const std::string& words, double spread = 3) : logits(filled(Format::f32, {6, 8}, spread, 1)) {
    task.inputs = {logits.held()};
    contract = contract_for(task, words);
    rewrite();
  }
  ContractFit fit(const TensorOptions& options = {}, double seconds = ample_seconds) const {
    return fitting_contract(task, contract, std::vector{outputs[0].held()}, judged(options), options, seconds);
  }
};

TEST(ContractFit, RightResultsNeedNone) {
  const ContractFit fit = FitSample("sum=tree").fit();
  EXPECT_FALSE(fit.contract.has_value());
  EXPECT_EQ(fit.tried, 0u);
  EXPECT_EQ(fit.text(), "");
}

// 64 units of roundoff are more than a tree of eight is granted with exp=1ulp, and less than with exp=64ulp.
TEST(ContractFit, AWiderExponentialKeepsTheOtherWords) {
  FitSample sample("sum=tree");
  for (std::size_t i = 0; i < 48; ++i) sample.outputs[0].set(i, sample.outputs[0].at(i) * (1 + 0x1p-18));
  const ContractFit fit = sample.fit();
  ASSERT_TRUE(fit.contract.has_value());
  EXPECT_EQ(fit.contract->summation, sample.contract.summation);
  EXPECT_EQ(fit.contract->accumulator, Format::f32);
  EXPECT_GT(fit.contract->exp_error, sample.contract.exp_error);
  EXPECT_EQ(fit.text().find("every row keeps the contract 'exp="), 0u) << fit.text();
  const std::vector<GivenTensor> outputs{sample.outputs[0].held()};
  EXPECT_EQ(judge_tensors(sample.task, *fit.contract, outputs).verdict, ReportVerdict::pass);
}

// Of eight nearly equal logits the default grants 22 units of roundoff and more, an exponential of 1/8 ulp less
// than 15.
TEST(ContractFit, TheDefaultHasAName) {
  FitSample sample("exp=0.125ulp", 0.01);
  for (std::size_t i = 0; i < 48; ++i) {
    sample.outputs[0].set(i,
                          sample.outputs[0].at(i) * (1 + (i % 2 == 0 ? 18 : -18) * 0x1p-24));  // rows still add up to 1
  }
  EXPECT_EQ(sample.fit().text(),
            "every row keeps the default contract: give that one if the kernel is meant to compute so\n");
}

// Its own accumulator is named for f64 results that f32 computed, and a judgement by it says what that grants.
TEST(ContractFit, WhatF32ComputedIsNoF64) {
  const StoredTensor logits = stored(Format::f64, {6, 8}, sample_numbers(Format::f64, 48, 3, 1));
  TensorTask task;
  task.inputs = {logits.held()};
  const Contract usual = contract_for(task, "");
  const StoredTensor output = stored(Format::f64, {6, 8}, ideal_output(task, usual, 0, Format::f32));
  const std::vector<GivenTensor> outputs{output.held()};
  const TensorJudgement judgement = judge_tensors(task, usual, outputs);
  EXPECT_TRUE(judgement.rows.back().details.empty()) << details_text(judgement);
  const ContractFit fit = fitting_contract(task, usual, outputs, judgement, {}, ample_seconds);
  EXPECT_EQ(fit.text(), "every row keeps the contract 'acc=f32': give that one if the kernel is meant to compute so\n");
  EXPECT_EQ(judge_tensors(task, contract_for(task, "acc=f32"), outputs).rows.back().details,
            std::vector<std::string>{
                "acc=f32 grants the f64 results f32's unit roundoff, 2^-24; acc=f64 grants 2^-53; ulps are f32's"});
}

TEST(ContractFit, WeightsThatAreStoredAreNamed) {
  const StoredTensor q = stored(Format::bf16, {4, 16}, sample_numbers(Format::bf16, 64, 2, 1));
  const StoredTensor k = stored(Format::bf16, {64, 16}, sample_numbers(Format::bf16, 1024, 2, 2));
  const StoredTensor v = stored(Format::bf16, {64, 8}, sample_numbers(Format::bf16, 512, 2, 3));
  TensorTask task;
  task.op = Op::attention;
  task.scale = 0.25;
  task.inputs = {q.held(), k.held(), v.held()};
  const Contract contract = contract_for(task, "");
  StoredTensor out = stored(Format::bf16, {4, 8}, std::vector<double>(32));
  for (std::size_t row = 0; row < 4; ++row) {
    std::vector<double> scores(64);
    double largest = -infinity, total = 0;
    for (std::size_t key = 0; key < 64; ++key) {
      for (std::size_t i = 0; i < 16; ++i) scores[key] += task.scale * q.at(row * 16 + i) * k.at(key * 16 + i);
      largest = std::max(largest, scores[key]);
    }
    std::vector<double> sums(8);
    for (std::size_t key = 0; key < 64; ++key) {
      const double weight = std::exp(scores[key] - largest);
      total += weight;
      for (std::size_t c = 0; c < 8; ++c) sums[c] += numerics::round_to(Format::bf16, weight) * v.at(key * 8 + c);
    }
    for (std::size_t c = 0; c < 8; ++c) out.set(row * 8 + c, sums[c] / total);
  }
  const std::vector<GivenTensor> outputs{out.held()};
  const TensorJudgement judgement = judge_tensors(task, contract, outputs);
  ASSERT_EQ(judgement.verdict, ReportVerdict::fail) << details_text(judgement);
  const ContractFit fit = fitting_contract(task, contract, outputs, judgement, {}, ample_seconds);
  EXPECT_EQ(fit.text(),
            "every row keeps the contract 'weights=bf16': give that one if the kernel is meant to compute so\n");
}

TEST(ContractFit, ARowWithNothingVisibleChoosesItsConvention) {
  for (const char* words : {"masked=uniform", "masked=zero", "masked=nan"}) {
    for (const char* given : {"masked=nan", "masked=zero"}) {
      FitSample sample(given);
      std::vector<std::uint8_t> bytes(48, 1);
      std::fill_n(bytes.begin(), 8, std::uint8_t{0});
      sample.mask = stored_mask({6, 8}, bytes);
      sample.task.inputs.push_back(sample.mask.held());
      const Contract kept = contract_for(sample.task, words);
      sample.outputs[0] = stored(Format::f32, {6, 8}, ideal_output(sample.task, kept, 0, Format::f32));
      const ContractFit fit = sample.fit();
      EXPECT_EQ(fit.contract.value_or(sample.contract).masked, kept.masked) << words << " for " << given;
      EXPECT_EQ(fit.contract.has_value(), kept.masked != sample.contract.masked);
    }
  }
}

TEST(ContractFit, AWrongValueFitsNone) {
  FitSample sample("");
  sample.outputs[0].set(47, sample.outputs[0].at(47) * 1.25);
  const ContractFit fit = sample.fit();
  EXPECT_FALSE(fit.contract.has_value());
  EXPECT_TRUE(fit.all_tried);
  EXPECT_GT(fit.tried, 20u);
  EXPECT_EQ(fit.text(), "none of " + std::to_string(fit.tried) + " usual contracts allow these results\n");
}

TEST(ContractFit, NoContractIsTriedForANanThatIsLostOrWithoutTime) {
  FitSample sample("sum=tree");
  sample.logits.set(3, nan);
  sample.outputs[0].set(47, sample.outputs[0].at(47) * (1 + 0x1p-18));
  EXPECT_EQ(sample.fit().tried, 0u);
  EXPECT_EQ(sample.fit().text(), "");
  const ContractFit exempt = sample.fit({.exempt = {"kernel.nan_row"}});
  EXPECT_TRUE(exempt.contract.has_value());
  FitSample wrong("");
  wrong.outputs[0].set(0, 0.75);
  EXPECT_FALSE(wrong.fit({}, 0).all_tried);
  EXPECT_EQ(wrong.fit({}, 0).text(), "");
}

}  // namespace
}  // namespace softcheck::proptests
