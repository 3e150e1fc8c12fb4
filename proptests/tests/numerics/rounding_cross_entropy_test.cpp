// B14 and B15 against simulated kernels: no error exceeds its bound, and each of their terms is needed.

#include "numerics/rounding_cross_entropy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "numerics/cross_entropy.hpp"
#include "proptests/tests/numerics/bound_ratio.hpp"
#include "proptests/tests/numerics/row_families.hpp"
#include "proptests/tests/numerics/simulated_cross_entropy.hpp"

namespace softcheck::numerics {
namespace {

using simulated::Arithmetic;
using simulated::CrossEntropyPlan;
using simulated::Errors;

struct LossSetting {
  Format input;
  const char* words;
  double least_share;  // of the loss and of the gradient; CrossEntropyWitness reaches more
};

const std::vector<LossSetting> loss_settings{
    {Format::f32, "acc=f32 exp=1ulp sum=sequential", 0.4},
    {Format::f32, "acc=f32 exp=0.5ulp sum=lanes:8 subnormal=kept lse=uncentred", 0.5},
    {Format::f32, "acc=f32 exp=E:50,A:3 sum=blocks:64", 0.5},
    {Format::f64, "acc=f64 exp=1ulp sum=lanes:4", 0.4},
    {Format::bf16, "acc=f32 exp=1ulp sum=tree subnormal=flushed", 0.5},
    {Format::f16, "acc=f32 exp=2ulp sum=tree lse=uncentred", 0.5},
    {Format::bf16, "acc=bf16 exp=1ulp sum=tree", 0.3},
    {Format::f16, "acc=f16 exp=1ulp sum=lanes:8", 0.3},
};

struct Option {
  const char* name;
  CrossEntropyOptions options;
  bool weighted;
};

const std::vector<Option> all_options{
    {"hard", {}, false},
    {"smoothed", {.label_smoothing = 0.1}, false},
    {"z-loss", {.z_loss = 1e-3}, false},
    {"softcap", {.softcap = 30}, false},
    {"weighted", {}, true},
    {"smoothed, z-loss, softcap, weighted", {.label_smoothing = 0.25, .z_loss = 0.01, .softcap = 6.5}, true},
};

struct LossCase {
  std::string name;
  std::vector<double> logits;
  std::size_t label;
};

std::vector<LossCase> loss_cases(Format format, std::size_t n, std::uint64_t seed) {
  std::vector<LossCase> cases;
  const double most = format == Format::f16 ? 50 : 1e4;  // f16's sums and squares overflow beyond
  for (tests::NamedRow& row : tests::row_families(n, seed)) {
    if (row.name.find("masked") != std::string::npos) continue;
    for (double& x : row.logits) x = std::clamp(round_to(format, x), -most, most);
    const std::size_t best =
        static_cast<std::size_t>(std::max_element(row.logits.begin(), row.logits.end()) - row.logits.begin());
    cases.push_back({row.name + ", the largest", row.logits, best});
    cases.push_back({row.name + ", the last", row.logits, n - 1});
  }
  return cases;
}

std::vector<double> class_weights(std::size_t n) {
  std::vector<double> weights(n);
  for (std::size_t j = 0; j < n; ++j) weights[j] = static_cast<float>(0.3 + 0.1 * static_cast<double>(j % 11));
  return weights;
}

struct Shares {
  double loss = 0, gradient = 0;
};

// The rows' own bounds, for a kernel that keeps its contract.
void judge_loss(const Contract& contract, const Option& option, const LossCase& row, const CrossEntropyPlan& plan,
                Errors errors, const CrossEntropyOracle& oracle, const CrossEntropyRow<UpperBound>& bounds,
                Shares& shares) {
  const std::vector<double> weights = option.weighted ? class_weights(row.logits.size()) : std::vector<double>{};
  const double upstream = 1, divisor = 3;
  Arithmetic arithmetic(contract, errors);
  const auto got = cross_entropy(arithmetic, row.logits, row.label, option.options, weights, upstream, divisor, plan);
  const double bound = upper(cross_entropy_error(contract, option.options, bounds).total());
  const std::string what = to_string(contract) + ", " + option.name + ", " + row.name + ", errors " +
                           std::to_string(static_cast<int>(errors));
  shares.loss = std::max(shares.loss, simulated::used(got.loss, oracle.loss(), bound));
  ASSERT_TRUE(simulated::holds(got.loss, oracle.loss(), bound)) << what << " loss " << got.loss;
  const Enclosure scale = Enclosure(upstream) / Enclosure(divisor);
  const CrossEntropyGradientThreshold<UpperBound> threshold(contract, option.options, bounds,
                                                            UpperBound(scale.upper_double()));
  for (std::size_t j = 0; j < row.logits.size(); j += 1 + row.logits.size() / 8) {
    const double limit = upper(threshold.element(oracle.element<UpperBound>(j)).total());
    const Enclosure exact = oracle.gradient(j, scale);
    shares.gradient = std::max(shares.gradient, simulated::used(got.gradient[j], exact, limit));
    ASSERT_TRUE(simulated::holds(got.gradient[j], exact, limit)) << what << " item " << j << " got " << got.gradient[j];
  }
}

class CrossEntropyBounds : public testing::TestWithParam<std::size_t> {};

TEST_P(CrossEntropyBounds, HoldOfLossAndGradient) {
  const PrecisionScope scope(113);
  const LossSetting& setting = loss_settings[GetParam()];
  const Contract contract = parse_contract(setting.words, setting.input, setting.input);
  const bool uncentred = contract.lse == LseForm::uncentred;
  Shares best;
  for (const Option& option : all_options) {
    Shares shares;
    for (const std::size_t n : {1, 2, 3, 8, 33}) {
      for (const LossCase& row : loss_cases(setting.input, n, 7)) {
        const std::vector<double> weights = option.weighted ? class_weights(n) : std::vector<double>{};
        const CrossEntropyOracle oracle(row.logits, row.label, option.options, weights);
        const auto bounds = oracle.row<UpperBound>(rescaling_count(contract, row.logits));
        for (const CrossEntropyPlan& plan :
             {CrossEntropyPlan{}, CrossEntropyPlan{true, true, false}, CrossEntropyPlan{true, false, uncentred}}) {
          for (const Errors errors : {Errors::nearest, Errors::up, Errors::down, Errors::up_below_one}) {
            judge_loss(contract, option, row, plan, errors, oracle, bounds, shares);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
    std::cout << setting.words << " of " << properties(setting.input).name << ", " << option.name
              << ": largest error/bound B14 " << shares.loss << ", B15 " << shares.gradient << '\n';
    best = {std::max(best.loss, shares.loss), std::max(best.gradient, shares.gradient)};
  }
  EXPECT_GT(best.loss, setting.least_share);
  EXPECT_GT(best.gradient, setting.least_share);
}

INSTANTIATE_TEST_SUITE_P(Contracts, CrossEntropyBounds, testing::Range<std::size_t>(0, loss_settings.size()));

// One kernel on one row: what it got, and the bounds.
struct Judged {
  double loss_share = 0, gradient_share = 0;  // of item 0 or the label
  bool holds = true;
  bool loss_exceeds = false, gradient_exceeds = false;  // the planted bounds
};

struct Case {
  const char* words;
  std::vector<double> logits;
  std::size_t label = 0;
  std::size_t item = 0;
  CrossEntropyOptions options = {};
  bool weighted = false;
  Errors errors = Errors::nearest;
  CrossEntropyPlan plan = {};
  Format input = Format::f32, output = Format::f32;
  double upstream = 1, divisor = 1;
};

// What is left out of a bound.
struct Left {
  std::function<void(Contract&)> contract = [](Contract&) {};
  std::function<void(CrossEntropyOptions&)> options = [](CrossEntropyOptions&) {};
  std::function<void(CrossEntropyRow<UpperBound>&)> row = [](CrossEntropyRow<UpperBound>&) {};
  std::function<void(CrossEntropyElement<UpperBound>&)> element = [](CrossEntropyElement<UpperBound>&) {};
};

Judged judged(const Case& c, const Left& left = {}) {
  const PrecisionScope scope(113);
  Contract contract = parse_contract(c.words, c.input, c.output);
  const std::vector<double> weights = c.weighted ? class_weights(c.logits.size()) : std::vector<double>{};
  const CrossEntropyOracle oracle(c.logits, c.label, c.options, weights);
  auto row = oracle.row<UpperBound>(rescaling_count(contract, c.logits));
  Arithmetic arithmetic(contract, c.errors);
  const auto got = cross_entropy(arithmetic, c.logits, c.label, c.options, weights, c.upstream, c.divisor, c.plan);
  const Enclosure scale = Enclosure(c.upstream) / Enclosure(c.divisor);
  const Enclosure exact = oracle.gradient(c.item, scale);
  auto element = oracle.element<UpperBound>(c.item);
  CrossEntropyOptions options = c.options;
  const auto bounds = [&] {
    const CrossEntropyGradientThreshold<UpperBound> threshold(contract, options, row, UpperBound(scale.upper_double()));
    return std::pair(upper(cross_entropy_error(contract, options, row).total()),
                     upper(threshold.element(element).total()));
  };
  Judged result;
  const auto [loss, gradient] = bounds();
  result.loss_share = simulated::used(got.loss, oracle.loss(), loss);
  result.gradient_share = simulated::used(got.gradient[c.item], exact, gradient);
  result.holds =
      simulated::holds(got.loss, oracle.loss(), loss) && simulated::holds(got.gradient[c.item], exact, gradient);
  left.contract(contract);
  left.options(options);
  left.row(row);
  left.element(element);
  const auto [wrong_loss, wrong_gradient] = bounds();
  result.loss_exceeds = simulated::exceeds(got.loss, oracle.loss(), wrong_loss);
  result.gradient_exceeds = simulated::exceeds(got.gradient[c.item], exact, wrong_gradient);
  return result;
}

std::vector<double> half_ulp_logits(std::size_t others, int precision) {
  std::vector<double> logits(others + 1, static_cast<float>(-precision * std::log(2.0) + 0x1p-7));
  logits.front() = 0;
  return logits;
}

TEST(CrossEntropyWitness, HalfUlpsReachTheBounds) {
  for (const Case& c : {Case{"exp=0.5ulp sum=sequential subnormal=kept", half_ulp_logits(65536, 24)},
                        Case{"exp=0.5ulp sum=sequential subnormal=kept", half_ulp_logits(65536, 24), 1, 1}}) {
    const Judged got = judged(c);
    EXPECT_TRUE(got.holds);
    std::cout << "label " << c.label << ": largest error/bound B14 " << got.loss_share << ", B15 " << got.gradient_share
              << '\n';
    // The label's own coefficient, nearly 1, is subtracted from 1: its error stays.
    EXPECT_GT(std::max(got.loss_share, got.gradient_share), 0.9);
  }
}

TEST(CrossEntropyWitness, ACoarseTanhReachesTheSoftcapsShare) {
  const CrossEntropyOptions options{.softcap = 30, .tanh_error = 8192};
  const Judged got = judged({"exp=0.5ulp", {40, -40}, 1, 1, options});
  const Judged other = judged({"exp=0.5ulp", {40, -40}, 0, 1, options});
  EXPECT_TRUE(got.holds && other.holds);
  std::cout << "softcap: largest error/bound B14 " << got.loss_share << ", B15 " << other.gradient_share << '\n';
  EXPECT_GT(got.loss_share, 0.5);
  EXPECT_GT(other.gradient_share, 0.5);
}

// The planted bound is exceeded where the right one holds.
void expect_loss_needs(const Case& c, const Left& left) {
  const Judged got = judged(c, left);
  EXPECT_TRUE(got.holds);
  EXPECT_TRUE(got.loss_exceeds) << got.loss_share;
}
void expect_gradient_needs(const Case& c, const Left& left) {
  const Judged got = judged(c, left);
  EXPECT_TRUE(got.holds);
  EXPECT_TRUE(got.gradient_exceeds) << got.gradient_share;
}

Left without_height() {
  return {.row = [](CrossEntropyRow<UpperBound>& row) { row.statistics.size = 1; }};
}
Left without_exponentials() {
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

TEST(PlantedCrossEntropyBound, TheSmoothedLossWithoutTheMeanOfLogarithmsIsRejected) {
  // The draft's bound had L less the mean of the logits alone: 4096 logarithms of one sign are added up.
  std::vector<double> logits(4096, 0);
  logits.front() = 0x1p-10;
  expect_loss_needs({"sum=sequential exp=0.5ulp subnormal=kept", logits, 0, 0, {.label_smoothing = 1}},
                    {.contract = [](Contract& contract) { contract.summation.kind = Summation::Kind::tree; }});
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

TEST(PlantedCrossEntropyBound, TheGradientWithoutItsOutputIsRejected) {
  expect_gradient_needs({"", {3.3F, 1.7F, 0.2F}, 2, 0, {}, false, Errors::nearest, {}, Format::f32, Format::bf16},
                        {.contract = [](Contract& contract) { contract.output = Format::f32; }});
}

// The mean of many losses, each computed by itself.
TEST(CrossEntropyMean, KeepsItsBoundAndNeedsTheHeight) {
  const PrecisionScope scope(113);
  const Contract contract = parse_contract("sum=sequential exp=0.5ulp subnormal=kept", Format::f32, Format::f32);
  const std::vector<double> row{0, 0.7F, -3};
  const std::size_t rows = 4097;
  const CrossEntropyOracle oracle(row, 1);
  Arithmetic arithmetic(contract, Errors::nearest);
  const double loss = cross_entropy(arithmetic, row, 1, {}, {}, 1, 1, {}).unrounded_loss;
  const double got = arithmetic.divide(sum_in_order(arithmetic, std::vector<double>(rows, loss)), rows);
  const UpperBound count(static_cast<double>(rows));
  const UpperBound magnitude = count * UpperBound(oracle.loss().upper_double());
  const UpperBound error = count * cross_entropy_error(contract, {}, oracle.row<UpperBound>(2)).total();
  const auto bound = [&](std::uint64_t added) {
    return upper(cross_entropy_mean_error(contract, added, magnitude, error, static_cast<double>(rows), false).total());
  };
  EXPECT_TRUE(simulated::holds(got, oracle.loss(), bound(rows)));
  std::cout << "mean: error/bound " << simulated::used(got, oracle.loss(), bound(rows)) << '\n';
  EXPECT_TRUE(simulated::exceeds(got, oracle.loss(), bound(1)));
  EXPECT_THROW(cross_entropy_mean_error(contract, 0, magnitude, error, 1, false), std::invalid_argument);
  EXPECT_THROW(cross_entropy_mean_error(contract, 1, magnitude, error, 0, false), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::numerics
