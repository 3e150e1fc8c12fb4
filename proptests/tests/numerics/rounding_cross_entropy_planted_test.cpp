// B14 and B15 with a term left out, each with a kernel that keeps its contract and breaks the wrong bound - while the
// right one holds.

#include <gtest/gtest.h>

#include <vector>

#include "numerics/oracles/cross_entropy.hpp"
#include "proptests/tests/numerics/cross_entropy_bounds.hpp"

namespace softcheck::numerics {
namespace {

using PlantedLossCase = simulated::CrossEntropyCase;
using simulated::Errors;
using simulated::half_ulp_logits;
using simulated::judged;
using simulated::Judged;
using LossLeft = simulated::Left;

// The planted bound is exceeded where the right one holds.
void expect_loss_needs(const PlantedLossCase& c, const LossLeft& left) {
  const Judged got = judged(c, left);
  EXPECT_TRUE(got.holds);
  EXPECT_TRUE(got.loss_exceeds) << got.loss_share;
}
void expect_gradient_needs(const PlantedLossCase& c, const LossLeft& left) {
  const Judged got = judged(c, left);
  EXPECT_TRUE(got.holds);
  EXPECT_TRUE(got.gradient_exceeds) << got.gradient_share;
}

LossLeft without_height() {
  return {.row = [](CrossEntropyRow<UpperBound>& row) { row.statistics.size = 1; }};
}
LossLeft without_exponentials() {
  return {.contract = [](Contract& contract) { contract.exp_error = contract.log_error = 1; }};
}

TEST(PlantedCrossEntropyBound, TheLossWithoutTheHeightIsRejected) {
  expect_loss_needs({"exp=0.5ulp subnormal=kept", half_ulp_logits(4096, 24)}, without_height());
}

TEST(PlantedCrossEntropyBound, TheLossWithoutTheExponentialsErrorIsRejected) {
  expect_loss_needs({"exp=E:50,A:1 sum=tree", {1, 0.5, 1, 0.25}, 1, 0, {}, false, Errors::up}, without_exponentials());
}

TEST(PlantedCrossEntropyBound, TheUncentredLossWithoutTheSizeOfItsLogSumExpIsRejected) {
  expect_loss_needs({"lse=uncentred", {3e6F, 3e6F - 1.25F}, 1},
                    {.contract = [](Contract& contract) { contract.lse = LseForm::centred; }});
}

TEST(PlantedCrossEntropyBound, TheSmoothedLossWithoutTheMeanOfLogitsIsRejected) {
  // L - mean x, sixty thousand the size of either.
  expect_loss_needs(
      {"sum=sequential", {65000.125F, 64999, 64990.5F}, 0, 0, {.label_smoothing = 0.5}, false, Errors::nearest, {true}},
      {.row = [](CrossEntropyRow<UpperBound>& row) {
        row.mean_magnitude = UpperBound();
        row.statistics.logsumexp_magnitude = UpperBound(1);
      }});
}

TEST(PlantedCrossEntropyBound, TheDraftsBoundOfTheSmoothedLossIsRejected) {
  // The draft granted L less the mean of the logits alone, here of size 0. Added up one by one, 6810 logarithms of one
  // size err by nearly half a unit each in the same direction (the length found by a search).
  const PrecisionScope scope(113);
  const Contract contract = parse_contract("sum=sequential exp=0.5ulp subnormal=kept", Format::f32, Format::f32);
  const std::vector<double> logits(6810, 0);
  const CrossEntropyOptions options{.label_smoothing = 1};
  const CrossEntropyOracle oracle(logits, 0, options);
  const auto row = oracle.row<UpperBound>(0);
  simulated::Arithmetic arithmetic(contract, Errors::nearest);
  const double got = cross_entropy(arithmetic, logits, 0, options, {}, 1, 1, {}).loss;
  EXPECT_TRUE(simulated::holds(got, oracle.loss(), upper(cross_entropy_error(contract, options, row).total())));
  const UpperBound four_roundings = expm1(4 * OperationModel<UpperBound>(contract).unit);
  const double draft =
      upper(logsumexp_error(contract, row.statistics).total() + four_roundings * row.statistics.logsumexp_magnitude);
  EXPECT_TRUE(simulated::exceeds(got, oracle.loss(), draft));
}

TEST(PlantedCrossEntropyBound, TheLossWithoutItsSquareIsRejected) {
  expect_loss_needs({"", {300.1F, 200}, 0, 0, {.z_loss = 1}},
                    {.options = [](CrossEntropyOptions& options) { options.z_loss = 0; }});
}

TEST(PlantedCrossEntropyBound, TheLossWithoutTheSoftcapIsRejected) {
  expect_loss_needs({"", {40, -40}, 1, 0, {.softcap = 30, .tanh_error = 100}},
                    {.options = [](CrossEntropyOptions& options) { options.tanh_error = 0; }});
}

TEST(PlantedCrossEntropyBound, TheLossWithoutItsOutputIsRejected) {
  expect_loss_needs({"", {3.3F, 1.7F, 0.2F}, 2, 0, {}, false, Errors::nearest, {}, Format::f32, Format::bf16},
                    {.contract = [](Contract& contract) { contract.output = Format::f32; }});
}

TEST(PlantedCrossEntropyBound, TheGradientWithoutTheHeightIsRejected) {
  expect_gradient_needs({"exp=0.5ulp subnormal=kept", half_ulp_logits(4096, 24), 0, 1}, without_height());
}

TEST(PlantedCrossEntropyBound, TheGradientWithoutTheExponentialsErrorIsRejected) {
  expect_gradient_needs({"exp=E:50,A:1 sum=tree", {1, 0.5, 1, 0.25}, 1, 0, {}, false, Errors::up_below_one},
                        without_exponentials());
}

TEST(PlantedCrossEntropyBound, TheTargetsErrorRelativeToItsDistanceFromOneIsRejected) {
  // p_y - 1 of a sharp row: the error is p_y's, not that of 1 - p_y.
  expect_gradient_needs({"exp=0.5ulp sum=tree", {9, 0, 0.25F, 0.5F}, 0, 0},
                        {.element = [](CrossEntropyElement<UpperBound>& e) { e.coefficient = e.difference; }});
}

TEST(PlantedCrossEntropyBound, TheGradientWithoutTheSoftcapIsRejected) {
  expect_gradient_needs({"", {40, -40}, 0, 1, {.softcap = 30, .tanh_error = 100}},
                        {.options = [](CrossEntropyOptions& options) { options.tanh_error = 0; }});
}

TEST(PlantedCrossEntropyBound, TheGradientWithoutWhatItSubtractsIsRejected) {
  // s, V and w found by a search for errors of one sign.
  expect_gradient_needs({"exp=0.5ulp sum=tree", {9, 9, 9, 9.25F, 9, 9, -90}, 1, 6, {.label_smoothing = 0.516}, true},
                        {.element = [](CrossEntropyElement<UpperBound>& e) { e.subtrahend = UpperBound(); }});
}

TEST(PlantedCrossEntropyBound, TheGradientThroughALogSumExpNeedsItsWord) {
  expect_gradient_needs(
      {"lse=uncentred", {9000.1F, 9000, 8999}, 1, 0, {}, false, Errors::nearest, {false, false, true}},
      {.contract = [](Contract& contract) { contract.lse = LseForm::centred; }});
}

TEST(PlantedCrossEntropyBound, TheGradientThroughALogarithmWithoutTheLogarithmsErrorIsRejected) {
  expect_gradient_needs(
      {"exp=E:50,A:1 sum=tree", std::vector<double>(1000, 0.5), 0, 1, {}, false, Errors::up, {false, false, true}},
      {.contract = [](Contract& contract) { contract.log_error = 0; }});
}

TEST(PlantedCrossEntropyBound, TheGradientWithoutItsOutputIsRejected) {
  expect_gradient_needs({"", {3.3F, 1.7F, 0.2F}, 2, 0, {}, false, Errors::nearest, {}, Format::f32, Format::bf16},
                        {.contract = [](Contract& contract) { contract.output = Format::f32; }});
}

}  // namespace
}  // namespace softcheck::numerics
