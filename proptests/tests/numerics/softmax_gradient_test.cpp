// The exact gradients of softmax and log-softmax by two routes, and the double stage against them.

#include "numerics/oracles/softmax_gradient.hpp"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "numerics/enclosures/decision.hpp"
#include "numerics/rows/arb_row_oracle.hpp"
#include "proptests/tests/numerics/gradient_rows.hpp"

namespace softcheck::numerics {
namespace {

// The second route: sums and products of doubles are rational numbers, by integers and without any rounding.
using Rational = boost::multiprecision::cpp_rational;

Rational exactly(double value) { return Rational(value); }

Rational mean_of(const tests::GradientRow& row) {
  Rational mean = 0;
  for (std::size_t i = 0; i < row.y.size(); ++i) mean += exactly(row.y[i]) * exactly(row.g[i]);
  return mean;
}

// Does an enclosure's pair of doubles hold the rational? They are rounded outward.
bool holds(const Enclosure& enclosure, const Rational& value) {
  return exactly(enclosure.lower_double()) <= value && value <= exactly(enclosure.upper_double());
}

TEST(SoftmaxGradient, TheOracleHoldsTheRationalGradient) {
  for (const unsigned precision : {64u, 113u, 256u}) {
    const PrecisionScope scope(precision);
    for (const std::size_t n : {1, 2, 7, 64}) {
      for (const tests::GradientRow& row : tests::gradient_rows(Format::f32, n, 17)) {
        const SoftmaxGradientOracle oracle(row.y, row.g);
        const Rational mean = mean_of(row);
        ASSERT_TRUE(holds(oracle.mean(), mean)) << row.name;
        for (std::size_t j = 0; j < n; ++j) {
          ASSERT_TRUE(holds(oracle.gradient(j), exactly(row.y[j]) * (exactly(row.g[j]) - mean)))
              << row.name << " " << j;
        }
        const double widest = std::ldexp(oracle.product_magnitude().upper_double(), 2 - static_cast<int>(precision));
        EXPECT_LE(oracle.mean().width(), widest) << row.name;
      }
    }
  }
}

TEST(SoftmaxGradient, TheLogOracleOverlapsArbAndTheRationalSum) {
  if (!arb_available()) GTEST_SKIP() << "built without Arb";
  const PrecisionScope scope(113);
  for (const std::size_t n : {1, 2, 7, 64}) {
    for (const tests::GradientRow& row : tests::log_gradient_rows(Format::f32, n, 17)) {
      const LogSoftmaxGradientOracle oracle(row.y, row.g);
      Rational total = 0;
      for (const double g : row.g) total += exactly(g);
      ASSERT_TRUE(holds(oracle.total(), total)) << row.name;
      for (std::size_t j = 0; j < n; ++j) {
        if (std::isinf(row.y[j])) {
          EXPECT_TRUE(oracle.gradient(j).is_point() && oracle.gradient(j).contains(row.g[j]));
          continue;
        }
        // e^y = p / (1 - p) of the row (y, 0), by Arb.
        const ArbRowOracle pair(std::vector<double>{row.y[j], 0.0});
        const Enclosure power = pair.softmax(0) / pair.softmax(1);
        ASSERT_TRUE(power.overlaps(oracle.power(j))) << row.name << " " << row.y[j];
        ASSERT_TRUE((Enclosure(row.g[j]) - power * oracle.total()).overlaps(oracle.gradient(j))) << row.name;
      }
    }
  }
}

TEST(SoftmaxGradient, TheDoubleStageErrsByNoMoreThanItSays) {
  const PrecisionScope scope(256);
  for (const Format format : {Format::f32, Format::f64, Format::bf16}) {
    for (const std::size_t n : {1, 2, 7, 64, 1000}) {
      for (const tests::GradientRow& row : tests::gradient_rows(format, n, 5)) {
        const SoftmaxGradientOracle oracle(row.y, row.g);
        const auto quick = approximate_softmax_gradient(row.y, row.g);
        for (std::size_t j = 0; j < n; ++j) {
          if (std::isinf(quick[j].error)) continue;
          const Enclosure distance = abs(Enclosure(quick[j].value) - oracle.gradient(j));
          ASSERT_EQ(less_equal(distance, Enclosure(quick[j].error)), Decision::proved) << row.name << " " << j;
          EXPECT_LE(quick[j].error, 0x1p-46 * oracle.metric(j).upper_double() + 0x1p-1000) << row.name;
        }
      }
      for (const tests::GradientRow& row : tests::log_gradient_rows(format, n, 5)) {
        const LogSoftmaxGradientOracle oracle(row.y, row.g);
        const auto quick = approximate_log_softmax_gradient(row.y, row.g);
        for (std::size_t j = 0; j < n; ++j) {
          if (std::isinf(quick[j].error)) continue;
          const Enclosure distance = abs(Enclosure(quick[j].value) - oracle.gradient(j));
          ASSERT_EQ(less_equal(distance, Enclosure(quick[j].error)), Decision::proved) << row.name << " " << j;
          EXPECT_LE(quick[j].error, 0x1p-46 * oracle.metric(j).upper_double() + 0x1p-1000) << row.name;
        }
      }
    }
  }
}

void expect_within(const Approximation& quick, const Enclosure& exact) {
  EXPECT_EQ(less_equal(abs(Enclosure(quick.value) - exact), Enclosure(quick.error)), Decision::proved) << quick.value;
  EXPECT_LT(quick.error, 0x1p-20);
}

// The products' sum rounds 1 away: what the additions lost is all of the mean.
TEST(SoftmaxGradient, WhatAMeanLosesToCancellationIsAddedBack) {
  const std::vector<double> y{1, 1, 1}, g{0x1p60, 1, -0x1p60};
  expect_within(approximate_softmax_gradient(y, g)[1], SoftmaxGradientOracle(y, g).gradient(1));
}

// e^-744.7 is no multiple of the smallest number: the sum of the gradients multiplies what its rounding loses.
TEST(SoftmaxGradient, ATotalMultipliesWhatASubnormalPowerLoses) {
  const std::vector<double> y{-744.7, 0}, g{0, 0x1p40};
  expect_within(approximate_log_softmax_gradient(y, g)[0], LogSoftmaxGradientOracle(y, g).gradient(0));
}

TEST(SoftmaxGradient, RowsThatAreNoneAreRefused) {
  const std::vector<double> one{0.5}, two{0.5, 0.5}, none, infinite{INFINITY}, masked{-INFINITY};
  EXPECT_THROW(SoftmaxGradientOracle(one, two), std::invalid_argument);
  EXPECT_THROW(SoftmaxGradientOracle(none, none), std::invalid_argument);
  EXPECT_THROW(SoftmaxGradientOracle(masked, one), std::invalid_argument);
  EXPECT_THROW(SoftmaxGradientOracle(one, infinite), std::invalid_argument);
  EXPECT_THROW(LogSoftmaxGradientOracle(infinite, one), std::invalid_argument);
  EXPECT_NO_THROW(LogSoftmaxGradientOracle(masked, one));
  EXPECT_THROW(approximate_softmax_gradient(one, two), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::numerics
