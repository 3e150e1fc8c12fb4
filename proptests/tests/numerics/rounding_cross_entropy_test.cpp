// B14 and B15 against simulated kernels: no error exceeds its bound.

#include "numerics/rounding/rounding_cross_entropy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "numerics/oracles/cross_entropy.hpp"
#include "proptests/tests/numerics/bound_ratio.hpp"
#include "proptests/tests/numerics/cross_entropy_bounds.hpp"
#include "proptests/tests/numerics/row_families.hpp"
#include "proptests/tests/numerics/simulated_cross_entropy.hpp"

namespace softcheck::numerics {
namespace {

using simulated::Arithmetic;
using simulated::class_weights;
using simulated::CrossEntropyPlan;
using simulated::Errors;
using SimulatedLoss = simulated::CrossEntropyCase;
using simulated::half_ulp_logits;
using simulated::judged;
using simulated::Judged;

struct LossSetting {
  Format input;
  const char* words;
  double least_share;  // of the loss and of the gradient; CrossEntropyWitness reaches more
};

const std::vector<LossSetting> loss_settings{
    {Format::f32, "acc=f32 exp=1ulp sum=sequential", 0.3},
    {Format::f32, "acc=f32 exp=0.5ulp sum=lanes:8 subnormal=kept lse=uncentred", 0.5},
    {Format::f32, "acc=f32 exp=E:50,A:3 sum=blocks:64", 0.5},
    {Format::f64, "acc=f64 exp=1ulp sum=lanes:4", 0.3},
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

struct LossShares {
  double loss = 0, gradient = 0;
};

// The rows' own bounds, for a kernel that keeps its contract.
void judge_loss(const Contract& contract, const Option& option, const LossCase& row, const CrossEntropyPlan& plan,
                Errors errors, const CrossEntropyOracle& oracle, const CrossEntropyRow<UpperBound>& bounds,
                LossShares& shares) {
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
  LossShares best;
  for (const Option& option : all_options) {
    LossShares shares;
    for (const std::size_t n : {1, 2, 3, 8, 33}) {
      for (const LossCase& row : loss_cases(setting.input, n, 7)) {
        const std::vector<double> weights = option.weighted ? class_weights(n) : std::vector<double>{};
        const CrossEntropyOracle oracle(row.logits, row.label, option.options, weights);
        const auto bounds = oracle.row<UpperBound>(cross_entropy_rescalings(contract, option.options, row.logits));
        for (const CrossEntropyPlan& plan :
             {CrossEntropyPlan{}, CrossEntropyPlan{true, true, false}, CrossEntropyPlan{true, false, true}}) {
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

TEST(CrossEntropyWitness, HalfUlpsReachTheBounds) {
  for (const SimulatedLoss& c :
       {SimulatedLoss{"exp=0.5ulp sum=sequential subnormal=kept", half_ulp_logits(65536, 24)},
        SimulatedLoss{"exp=0.5ulp sum=sequential subnormal=kept", half_ulp_logits(65536, 24), 1, 1}}) {
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

// Beyond its chord a coefficient is nothing but what underflows, however far below the maximum its logit is.
TEST(CrossEntropyGradientBound, IsFiniteForEveryClassOfAnUnlikelyOne) {
  for (const char* words : {"acc=f32 exp=1ulp", "acc=f32 exp=E:50,A:3 lse=uncentred", "acc=f64 exp=1ulp"}) {
    const Format format = std::string_view(words).starts_with("acc=f64") ? Format::f64 : Format::f32;
    const Contract contract = parse_contract(words, format, format);
    for (const double deviation : {0x1p20, 0x1p40, 0x1p127}) {
      const CrossEntropyOracle oracle(std::vector<double>{0, -deviation}, 0);
      const CrossEntropyGradientThreshold<UpperBound> threshold(contract, {}, oracle.row<UpperBound>(1), UpperBound(1));
      EXPECT_LT(upper(threshold.element(oracle.element<UpperBound>(1)).total()), 0x1p-120) << words << ' ' << deviation;
    }
  }
}

// An attribute that is not asked for has no operations, and so grants none. The least one has its own: each adds one
// rounding or more of the value, also beside another attribute.
TEST(CrossEntropyBound, AnAttributeOfZeroGrantsNothing) {
  const Contract contract = parse_contract("acc=f32 exp=1ulp sum=sequential", Format::f32, Format::f32);
  const CrossEntropyOracle oracle(std::vector<double>{0, 0.7F, -3}, 1);
  const auto row = oracle.row<UpperBound>(2);
  const double least = std::numeric_limits<double>::denorm_min(), rounding = 0x1p-24;
  const auto loss = [&](const CrossEntropyOptions& options) {
    return upper(cross_entropy_error(contract, options, row).total());
  };
  const auto gradient = [&](const CrossEntropyOptions& options) {
    const CrossEntropyGradientThreshold<UpperBound> threshold(contract, options, row, UpperBound(1));
    return upper(threshold.element(oracle.element<UpperBound>(0)).total());
  };
  using Options = CrossEntropyOptions;
  for (const auto& [without, with] :
       {std::pair(Options{}, Options{.label_smoothing = least}), std::pair(Options{}, Options{.z_loss = least}),
        std::pair(Options{.z_loss = 0.5}, Options{.label_smoothing = least, .z_loss = 0.5}),
        std::pair(Options{.label_smoothing = 0.5}, Options{.label_smoothing = 0.5, .z_loss = least})}) {
    EXPECT_GE(loss(with) - loss(without), rounding * oracle.loss().lower_double());
    EXPECT_GE(gradient(with) - gradient(without), rounding * oracle.gradient(0, Enclosure(1)).lower_double());
  }
}

TEST(CrossEntropyRescalings, CountItemsThatMayExceedAllBeforeThemBehindACap) {
  const Contract contract = parse_contract("sum=sequential", Format::f32, Format::f32);
  const std::vector<double> equal(9, 500), rising{-3, 0, 3, 6}, masked{-INFINITY, 1};
  // Nine saturated logits: a tanh of some ulps may put them in any order.
  EXPECT_EQ(rescaling_count(contract, equal), 0U);
  EXPECT_EQ(cross_entropy_rescalings(contract, {.softcap = 30}, equal), 8U);
  EXPECT_EQ(cross_entropy_rescalings(contract, {.softcap = 30}, rising), 3U);
  EXPECT_EQ(cross_entropy_rescalings(contract, {.softcap = 30}, masked), 0U);
  EXPECT_EQ(cross_entropy_rescalings(contract, {}, rising), rescaling_count(contract, rising));
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
