// B14 and B15 with a term left out, each with a kernel that keeps its contract and breaks the wrong bound - while the
// right one holds.

#include <gtest/gtest.h>

#include <vector>

#include "numerics/oracles/cross_entropy.hpp"
#include "proptests/tests/numerics/cross_entropy_bounds.hpp"

namespace softcheck::numerics::cross_entropy_planted_test {
namespace {

using simulated::CrossEntropyCase;
using simulated::Errors;
using simulated::half_ulp_row;
using simulated::Judged;
using simulated::Left;

// The planted bound is exceeded where the right one holds.
void rejected(const char* name, bool Judged::*exceeds, const CrossEntropyCase& c, const Left& left) {
  simulated::add_test("PlantedCrossEntropyBound", name, [=] {
    const Judged got = simulated::judged(c, left);
    EXPECT_TRUE(got.holds);
    EXPECT_TRUE(got.*exceeds) << got.loss_share << " and " << got.gradient_share;
  });
}

[[maybe_unused]] const bool registered = [] {
  constexpr auto loss = &Judged::loss_exceeds, gradient = &Judged::gradient_exceeds;
  const Left height{.row = [](CrossEntropyRow<UpperBound>& row) { row.statistics.size = 1; }};
  const Left exponentials{.contract = [](Contract& contract) { contract.exp_error = contract.log_error = 1; }};
  const Left output{.contract = [](Contract& contract) { contract.output = Format::f32; }};
  const Left uncentred{.contract = [](Contract& contract) { contract.lse = LseForm::centred; }};
  const Left tanh{.options = [](CrossEntropyOptions& options) { options.tanh_error = 0; }};
  const CrossEntropyCase narrow{"",    {3.3F, 1.7F, 0.2F}, 2,  0,           {},
                                false, Errors::nearest,    {}, Format::f32, Format::bf16};

  rejected("TheLossWithoutTheHeightIsRejected", loss, {"exp=0.5ulp subnormal=kept", half_ulp_row(4096, 24, 0x1p-7)},
           height);
  rejected("TheLossWithoutTheExponentialsErrorIsRejected", loss,
           {"exp=E:50,A:1 sum=tree", {1, 0.5, 1, 0.25}, 1, 0, {}, false, Errors::up}, exponentials);
  rejected("TheUncentredLossWithoutTheSizeOfItsLogSumExpIsRejected", loss, {"lse=uncentred", {3e6F, 3e6F - 1.25F}, 1},
           uncentred);
  // L - mean x, sixty thousand the size of either.
  rejected(
      "TheSmoothedLossWithoutTheMeanOfLogitsIsRejected", loss,
      {"sum=sequential", {65000.125F, 64999, 64990.5F}, 0, 0, {.label_smoothing = 0.5}, false, Errors::nearest, {true}},
      {.row = [](CrossEntropyRow<UpperBound>& row) {
        row.mean_magnitude = UpperBound();
        row.statistics.logsumexp_magnitude = UpperBound(1);
      }});
  rejected("TheLossWithoutItsSquareIsRejected", loss, {"", {300.1F, 200}, 0, 0, {.z_loss = 1}},
           {.options = [](CrossEntropyOptions& options) { options.z_loss = 0; }});
  rejected("TheLossWithoutTheSoftcapIsRejected", loss, {"", {40, -40}, 1, 0, {.softcap = 30, .tanh_error = 100}}, tanh);
  rejected("TheLossWithoutItsOutputIsRejected", loss, narrow, output);

  rejected("TheGradientWithoutTheHeightIsRejected", gradient,
           {"exp=0.5ulp subnormal=kept", half_ulp_row(4096, 24, 0x1p-7), 0, 1}, height);
  rejected("TheGradientWithoutTheExponentialsErrorIsRejected", gradient,
           {"exp=E:50,A:1 sum=tree", {1, 0.5, 1, 0.25}, 1, 0, {}, false, Errors::up_below_one}, exponentials);
  // p_y - 1 of a sharp row: the error is p_y's, not that of 1 - p_y.
  rejected("TheTargetsErrorRelativeToItsDistanceFromOneIsRejected", gradient,
           {"exp=0.5ulp sum=tree", {9, 0, 0.25F, 0.5F}, 0, 0},
           {.element = [](CrossEntropyElement<UpperBound>& e) { e.coefficient = e.difference; }});
  rejected("TheGradientWithoutTheSoftcapIsRejected", gradient,
           {"", {40, -40}, 0, 1, {.softcap = 30, .tanh_error = 100}}, tanh);
  // s, V and w found by a search for errors of one sign.
  rejected("TheGradientWithoutWhatItSubtractsIsRejected", gradient,
           {"exp=0.5ulp sum=tree", {9, 9, 9, 9.25F, 9, 9, -90}, 1, 6, {.label_smoothing = 0.516}, true},
           {.element = [](CrossEntropyElement<UpperBound>& e) { e.subtrahend = UpperBound(); }});
  rejected("TheGradientThroughALogSumExpNeedsItsWord", gradient,
           {"lse=uncentred", {9000.1F, 9000, 8999}, 1, 0, {}, false, Errors::nearest, {false, false, true}}, uncentred);
  rejected("TheGradientThroughALogarithmWithoutTheLogarithmsErrorIsRejected", gradient,
           {"exp=E:50,A:1 sum=tree", std::vector<double>(1000, 0.5), 0, 1, {}, false, Errors::up, {false, false, true}},
           {.contract = [](Contract& contract) { contract.log_error = 0; }});
  rejected("TheGradientWithoutItsOutputIsRejected", gradient, narrow, output);
  return true;
}();

TEST(PlantedCrossEntropyBound, TheDraftsBoundOfTheSmoothedLossIsRejected) {
  // The draft granted L less the mean of the logits alone, here of size 0. Added up one by one, 6810 logarithms of one
  // size err by nearly half a unit each in the same direction (the length found by a search).
  const PrecisionScope scope(113);
  const Contract contract = simulated::f32_contract("sum=sequential exp=0.5ulp subnormal=kept");
  const std::vector<double> logits(6810, 0);
  const CrossEntropyOptions options{.label_smoothing = 1};
  const CrossEntropyOracle oracle(logits, 0, options);
  const auto row = oracle.row<UpperBound>(0);
  simulated::Arithmetic arithmetic(contract, Errors::nearest);
  const double got = cross_entropy(arithmetic, logits, 0, options, {}, 1, 1, {}).loss;
  const UpperBound four_roundings = expm1(4 * OperationModel<UpperBound>(contract).unit);
  const double draft =
      upper(logsumexp_error(contract, row.statistics).total() + four_roundings * row.statistics.logsumexp_magnitude);
  simulated::expect_needed("B14", got, oracle.loss(), upper(cross_entropy_error(contract, options, row).total()),
                           draft);
}

}  // namespace
}  // namespace softcheck::numerics::cross_entropy_planted_test
