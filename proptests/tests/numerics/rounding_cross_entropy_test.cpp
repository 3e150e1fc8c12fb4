// B14 and B15 against simulated kernels: no error exceeds its bound, and rows of a mean reach it: what each addition
// loses adds up.
#include "numerics/rounding/rounding_cross_entropy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "numerics/oracles/cross_entropy.hpp"
#include "proptests/tests/numerics/bound_shares.hpp"
#include "proptests/tests/numerics/cross_entropy_bounds.hpp"
#include "proptests/tests/numerics/row_families.hpp"

namespace softcheck::numerics {
namespace {

using simulated::Arithmetic;
using simulated::BoundShares;
using simulated::class_weights;
using simulated::CrossEntropyPlan;
using simulated::Errors;
using simulated::Judged;
using simulated::judged;

using SimulatedLoss = simulated::CrossEntropyCase;
using LossOptions = CrossEntropyOptions;

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
  LossOptions options;
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

// The bounds of a row and a label, for kernels that keep their contract.
void judge_losses(const Contract& contract, const Option& option, const std::vector<double>& logits, std::size_t label,
                  BoundShares& shares) {
  const std::vector<double> weights = option.weighted ? class_weights(logits.size()) : std::vector<double>{};
  const CrossEntropyOracle oracle(logits, label, option.options, weights);
  const auto bounds = oracle.row<UpperBound>(cross_entropy_rescalings(contract, option.options, logits));
  const double upstream = 1, divisor = 3, bound = upper(cross_entropy_error(contract, option.options, bounds).total());
  const Enclosure scale = Enclosure(upstream) / Enclosure(divisor);
  const CrossEntropyGradientThreshold<UpperBound> threshold(contract, option.options, bounds,
                                                            UpperBound(scale.upper_double()));
  for (const CrossEntropyPlan& plan :
       {CrossEntropyPlan{}, CrossEntropyPlan{true, true, false}, CrossEntropyPlan{true, false, true}}) {
    for (const Errors errors : {Errors::nearest, Errors::up, Errors::down, Errors::up_below_one}) {
      Arithmetic arithmetic(contract, errors);
      const auto got = cross_entropy(arithmetic, logits, label, option.options, weights, upstream, divisor, plan);
      shares.judge("B14", got.loss, oracle.loss(), bound);
      for (std::size_t j = 0; j < logits.size(); j += 1 + logits.size() / 8) {
        const double limit = upper(threshold.element(oracle.element<UpperBound>(j)).total());
        shares.judge("B15", got.gradient[j], oracle.gradient(j, scale), limit);
      }
      ASSERT_FALSE(testing::Test::HasFailure()) << "errors " << static_cast<int>(errors);
    }
  }
}

class CrossEntropyBounds : public testing::TestWithParam<std::size_t> {};

TEST_P(CrossEntropyBounds, HoldOfLossAndGradient) {
  const PrecisionScope scope(113);
  const LossSetting& setting = loss_settings[GetParam()];
  const Contract contract = parse_contract(setting.words, setting.input, setting.input);
  const double most = setting.input == Format::f16 ? 50 : 1e4;  // f16's sums and squares overflow beyond
  BoundShares best;
  for (const Option& option : all_options) {
    BoundShares shares;
    for (const std::size_t n : {1, 2, 3, 8, 33}) {
      for (const tests::NamedRow& row : tests::rows_in(setting.input, n, 7, most)) {
        if (row.name.find("masked") != std::string::npos) continue;
        const auto largest = std::ranges::max_element(row.logits) - row.logits.begin();
        for (const std::size_t label : {static_cast<std::size_t>(largest), n - 1}) {
          SCOPED_TRACE(setting.words + (", " + row.name) + ", " + option.name + ", label " + std::to_string(label));
          judge_losses(contract, option, row.logits, label, shares);
          if (HasFatalFailure()) return;
        }
      }
    }
    shares.print(setting.words + (", " + std::string(option.name)));
    for (const char* bound : {"B14", "B15"}) best.raise(bound, shares.of(bound));
  }
  EXPECT_GT(best.of("B14"), setting.least_share);
  EXPECT_GT(best.of("B15"), setting.least_share);
}

INSTANTIATE_TEST_SUITE_P(Contracts, CrossEntropyBounds, testing::Range<std::size_t>(0, loss_settings.size()));

TEST(CrossEntropyWitness, HalfUlpsReachTheBounds) {
  // The label's own coefficient, nearly 1, is subtracted from 1: its error stays.
  for (const std::size_t label : {0, 1}) {
    const SimulatedLoss c{"exp=0.5ulp sum=sequential subnormal=kept", simulated::half_ulp_row(65536, 24, 0x1p-7), label,
                          label};
    const Judged got = judged(c);
    EXPECT_TRUE(got.holds);
    std::cout << "label " << label << ": B14 " << got.loss_share << ", B15 " << got.gradient_share << '\n';
    EXPECT_GT(std::max(got.loss_share, got.gradient_share), 0.9);
  }
}

TEST(CrossEntropyWitness, ACoarseTanhReachesTheSoftcapsShare) {
  const LossOptions options{.softcap = 30, .tanh_error = 8192};
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
  const Contract contract = simulated::f32_contract("acc=f32 exp=1ulp sum=sequential");
  const CrossEntropyOracle oracle(std::vector<double>{0, 0.7F, -3}, 1);
  const auto row = oracle.row<UpperBound>(2);
  const double least = std::numeric_limits<double>::denorm_min(), rounding = 0x1p-24;
  const auto loss = [&](const LossOptions& options) {
    return upper(cross_entropy_error(contract, options, row).total());
  };
  const auto gradient = [&](const LossOptions& options) {
    const CrossEntropyGradientThreshold<UpperBound> threshold(contract, options, row, UpperBound(1));
    return upper(threshold.element(oracle.element<UpperBound>(0)).total());
  };
  for (const auto& [without, with] :
       {std::pair(LossOptions{}, LossOptions{.label_smoothing = least}),
        std::pair(LossOptions{}, LossOptions{.z_loss = least}),
        std::pair(LossOptions{.z_loss = 0.5}, LossOptions{.label_smoothing = least, .z_loss = 0.5}),
        std::pair(LossOptions{.label_smoothing = 0.5}, LossOptions{.label_smoothing = 0.5, .z_loss = least})}) {
    EXPECT_GE(loss(with) - loss(without), rounding * oracle.loss().lower_double());
    EXPECT_GE(gradient(with) - gradient(without), rounding * oracle.gradient(0, Enclosure(1)).lower_double());
  }
}

TEST(CrossEntropyRescalings, CountItemsThatMayExceedAllBeforeThemBehindACap) {
  const Contract contract = simulated::f32_contract("sum=sequential");
  const std::vector<double> equal(9, 500), rising{-3, 0, 3, 6}, masked{-INFINITY, 1};
  // Nine saturated logits: a tanh of some ulps may put them in any order.
  EXPECT_EQ(rescaling_count(contract, equal), 0U);
  EXPECT_EQ(cross_entropy_rescalings(contract, {.softcap = 30}, equal), 8U);
  EXPECT_EQ(cross_entropy_rescalings(contract, {.softcap = 30}, rising), 3U);
  EXPECT_EQ(cross_entropy_rescalings(contract, {.softcap = 30}, masked), 0U);
  EXPECT_EQ(cross_entropy_rescalings(contract, {}, rising), rescaling_count(contract, rising));
}

struct MeanSetting {
  Format input, output;
  const char* words;
  std::size_t rows;
  double deviation;  // ln(1 + e^-deviation) is a little less than half an ulp of 2^15
  double least_share;
};

const std::vector<MeanSetting> mean_settings{
    {Format::f32, Format::f32, "acc=f32 exp=0.5ulp sum=sequential subnormal=kept", 4097, 6.25, 0.95},
    {Format::f64, Format::f64, "acc=f64 exp=0.5ulp sum=sequential subnormal=kept", 4097, 26.375, 0.93},
    {Format::f16, Format::f32, "acc=f32 exp=1ulp sum=sequential", 4097, 6.25, 0.95},
    {Format::bf16, Format::f32, "acc=f32 exp=1ulp sum=sequential", 4097, 6.25, 0.95},
};

std::vector<double> times(std::size_t rows, double first, double others) {
  std::vector<double> all(rows, others);
  all[0] = first;
  return all;
}

// A row of a call, and what its loss may err by.
struct MeanRow {
  MeanRow(const Contract& contract, std::vector<double> row, std::size_t its_label, std::vector<double> of_classes = {})
      : logits(std::move(row)),
        label(its_label),
        weights(std::move(of_classes)),
        oracle(logits, label, {}, weights),
        bounds(oracle.row<UpperBound>(cross_entropy_rescalings(contract, {}, logits))) {
    Contract inner = contract;
    inner.output = inner.accumulator;
    Arithmetic arithmetic(inner, Errors::nearest);
    got = cross_entropy(arithmetic, logits, label, {}, weights, 1, 1, {}).unrounded_loss;
    error = cross_entropy_error(inner, {}, bounds).total();
  }

  std::vector<double> logits;
  std::size_t label;
  std::vector<double> weights;
  CrossEntropyOracle oracle;
  CrossEntropyRow<UpperBound> bounds;
  double got = 0;
  UpperBound error;
};

// A call of a first row, and of others that are all alike.
struct MeanOfTwo {
  Enclosure sum() const { return first.oracle.loss() + others() * other.oracle.loss(); }
  UpperBound error() const { return first.error + UpperBound(static_cast<double>(rows - 1)) * other.error; }
  Enclosure others() const { return Enclosure(static_cast<double>(rows - 1)); }
  double added(Arithmetic& arithmetic) const { return sum_in_order(arithmetic, times(rows, first.got, other.got)); }

  const MeanRow& first;
  const MeanRow& other;
  std::size_t rows;
};

double bound_of_mean(const Contract& contract, const MeanOfTwo& call, std::uint64_t added, double divisor,
                     bool weighted) {
  const UpperBound magnitude(call.sum().upper_double());
  return upper(cross_entropy_mean_error(contract, added, magnitude, call.error(), divisor, weighted).total());
}

// The mean of many losses, each computed by itself.
TEST(CrossEntropyMean, KeepsItsBoundAndNeedsTheHeight) {
  const PrecisionScope scope(113);
  const Contract contract = simulated::f32_contract("sum=sequential exp=0.5ulp subnormal=kept");
  const MeanRow row(contract, {0, 0.7F, -3}, 1);
  const MeanOfTwo call{row, row, 4097};
  Arithmetic arithmetic(contract, Errors::nearest);
  simulated::expect_needed("mean", arithmetic.divide(call.added(arithmetic), 4097), row.oracle.loss(),
                           bound_of_mean(contract, call, 4097, 4097, false),
                           bound_of_mean(contract, call, 1, 4097, false));
  EXPECT_THROW(bound_of_mean(contract, call, 0, 1, false), std::invalid_argument);
  EXPECT_THROW(bound_of_mean(contract, call, 1, 0, false), std::invalid_argument);
}

class CrossEntropyMeans : public testing::TestWithParam<std::size_t> {
 protected:
  const MeanSetting& setting = mean_settings[GetParam()];
  const Contract contract = parse_contract(setting.words, setting.input, setting.output);
};

// 2^15, and losses so small that adding one to the sum changes nothing.
TEST_P(CrossEntropyMeans, ReachTheHeightOfTheirSum) {
  const PrecisionScope scope(113);
  const MeanRow large(contract, {0, -0x1p15}, 1), small(contract, {0, -setting.deviation}, 0);
  const MeanOfTwo call{large, small, setting.rows};
  Arithmetic arithmetic(contract, Errors::nearest);
  const auto rows = static_cast<double>(setting.rows);
  const double got = arithmetic.output(arithmetic.divide(call.added(arithmetic), rows));
  const Enclosure exact = call.sum() / Enclosure(rows);
  simulated::expect_needed("mean", got, exact, bound_of_mean(contract, call, setting.rows, rows, false),
                           bound_of_mean(contract, call, 2, rows, false), setting.least_share);
}

// The weights of the others lie a little above half an ulp of the first one's, so that their sum rounds up each time;
// their losses times that lie a little below. All are numbers of every format.
struct WeightedCall {
  explicit WeightedCall(const Contract& contract, std::size_t rows)
      : weights{0, 0x1p13, 0x1p13 * properties(contract.accumulator).unit_roundoff * (1 + 0x1p-7)},
        first(contract, {0, -512, -600}, 1, weights),
        other(contract, {0, -600, -500}, 2, weights),
        rows_(rows) {}

  Enclosure divisor() const {
    return Enclosure(weights[1]) + Enclosure(static_cast<double>(rows_ - 1)) * Enclosure(weights[2]);
  }
  double added_weights(Arithmetic& arithmetic) const {
    return sum_in_order(arithmetic, times(rows_, weights[1], weights[2]));
  }

  std::vector<double> weights;
  MeanRow first, other;

 private:
  std::size_t rows_;
};

TEST_P(CrossEntropyMeans, OfClassWeightsReachBothHeights) {
  const PrecisionScope scope(113);
  const WeightedCall of(contract, setting.rows);
  const MeanOfTwo call{of.first, of.other, setting.rows};
  Arithmetic arithmetic(contract, Errors::nearest);
  const double got = arithmetic.output(arithmetic.divide(call.added(arithmetic), of.added_weights(arithmetic)));
  const Enclosure exact = call.sum() / of.divisor();
  const double divisor = of.divisor().lower_double();
  simulated::expect_needed("weighted mean", got, exact, bound_of_mean(contract, call, setting.rows, divisor, true),
                           bound_of_mean(contract, call, setting.rows, divisor, false), setting.least_share);
}

// B15 at the largest factor, and how far the factor is from the exact one.
double bound_of_gradient(const Contract& contract, const MeanRow& row, const Enclosure& factor,
                         const UpperBound& relative) {
  const UpperBound size = UpperBound(abs(factor).upper_double()) * (1 + relative);
  const CrossEntropyGradientThreshold<UpperBound> threshold(contract, {}, row.bounds, size);
  const UpperBound slope(abs(row.oracle.gradient(row.label, Enclosure(1))).upper_double());
  return upper(threshold.element(row.oracle.element<UpperBound>(row.label)).total() + relative * size * slope);
}

TEST_P(CrossEntropyMeans, GradientsReachTheHeightOfTheirDivisor) {
  const PrecisionScope scope(113);
  const WeightedCall of(contract, setting.rows);
  Arithmetic arithmetic(contract, Errors::nearest);
  const double divisor = of.added_weights(arithmetic);
  const auto got = cross_entropy(arithmetic, of.first.logits, 1, {}, of.weights, 1, divisor, CrossEntropyPlan{});
  const Enclosure factor = Enclosure(1) / of.divisor(), exact = of.first.oracle.gradient(1, factor);
  const auto relative = cross_entropy_divisor_error<UpperBound>(contract, setting.rows, true);
  simulated::expect_needed("gradient of a weighted mean", got.gradient[1], exact,
                           bound_of_gradient(contract, of.first, factor, relative),
                           bound_of_gradient(contract, of.first, factor, UpperBound(0)), setting.least_share);
}

INSTANTIATE_TEST_SUITE_P(Formats, CrossEntropyMeans, testing::Range<std::size_t>(0, mean_settings.size()));

}  // namespace
}  // namespace softcheck::numerics
