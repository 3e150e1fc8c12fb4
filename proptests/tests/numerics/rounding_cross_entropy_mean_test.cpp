// The bounds of a mean of losses and of its gradient, at rows that reach them: what each addition loses adds up.
#include <gtest/gtest.h>

#include <iostream>
#include <string_view>
#include <vector>

#include "numerics/oracles/cross_entropy.hpp"
#include "numerics/rounding/rounding_cross_entropy.hpp"
#include "proptests/tests/numerics/simulated_cross_entropy.hpp"

namespace softcheck::numerics {
namespace {

using simulated::Arithmetic;
using simulated::CrossEntropyPlan;
using simulated::Errors;

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

class CrossEntropyMeans : public testing::TestWithParam<std::size_t> {
 protected:
  const MeanSetting& setting = mean_settings[GetParam()];
  const Contract contract = parse_contract(setting.words, setting.input, setting.output);
};

// 2^15, and losses that vanish beside it one by one.
TEST_P(CrossEntropyMeans, ReachTheHeightOfTheirSum) {
  const PrecisionScope scope(113);
  const MeanRow large(contract, {0, -0x1p15}, 1), small(contract, {0, -setting.deviation}, 0);
  const MeanOfTwo call{large, small, setting.rows};
  Arithmetic arithmetic(contract, Errors::nearest);
  const auto rows = static_cast<double>(setting.rows);
  const double got = arithmetic.output(arithmetic.divide(call.added(arithmetic), rows));
  const Enclosure exact = call.sum() / Enclosure(rows);
  const double bound = bound_of_mean(contract, call, setting.rows, rows, false);
  const double share = simulated::used(got, exact, bound);
  std::cout << "mean, " << setting.words << " of " << properties(setting.input).name << ": share " << share << '\n';
  EXPECT_TRUE(simulated::holds(got, exact, bound));
  EXPECT_GT(share, setting.least_share);
  EXPECT_TRUE(simulated::exceeds(got, exact, bound_of_mean(contract, call, 2, rows, false)));
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
  const double bound = bound_of_mean(contract, call, setting.rows, divisor, true);
  const double share = simulated::used(got, exact, bound);
  std::cout << "weighted mean, " << setting.words << " of " << properties(setting.input).name << ": share " << share
            << '\n';
  EXPECT_TRUE(simulated::holds(got, exact, bound));
  EXPECT_GT(share, setting.least_share);
  EXPECT_TRUE(simulated::exceeds(got, exact, bound_of_mean(contract, call, setting.rows, divisor, false)));
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
  const double bound = bound_of_gradient(contract, of.first, factor, relative);
  const double share = simulated::used(got.gradient[1], exact, bound);
  std::cout << "gradient of a weighted mean, " << setting.words << " of " << properties(setting.input).name
            << ": share " << share << '\n';
  EXPECT_TRUE(simulated::holds(got.gradient[1], exact, bound));
  EXPECT_GT(share, setting.least_share);
  EXPECT_TRUE(simulated::exceeds(got.gradient[1], exact, bound_of_gradient(contract, of.first, factor, UpperBound(0))));
}

INSTANTIATE_TEST_SUITE_P(Formats, CrossEntropyMeans, testing::Range<std::size_t>(0, mean_settings.size()));

}  // namespace
}  // namespace softcheck::numerics
