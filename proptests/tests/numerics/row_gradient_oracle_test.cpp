// The exact gradients of softmax and log-softmax by two routes, and the double stage against them.
#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "numerics/enclosures/decision.hpp"
#include "numerics/oracles/cross_entropy.hpp"
#include "numerics/oracles/softmax_gradient.hpp"
#include "numerics/rows/arb_row_oracle.hpp"
#include "proptests/tests/numerics/row_families.hpp"

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

// The exact cross-entropy and its gradient by two routes: MPFI's, and Arb's softmax with the definition written out.

struct Example {
  std::vector<double> logits, weights;
  std::size_t label;
  CrossEntropyOptions options;
};

std::vector<Example> examples() {
  std::mt19937_64 engine(11);
  std::normal_distribution<double> normal(0, 4);
  std::vector<Example> result;
  for (const std::size_t n : {1, 2, 9, 60}) {
    for (const double s : {0.0, 0.1, 1.0}) {
      for (const double z : {0.0, 0.25}) {
        for (const double cap : {0.0, 5.0}) {
          for (const bool weighted : {false, true}) {
            Example e{{}, {}, n / 2, {.label_smoothing = s, .z_loss = z, .softcap = cap}};
            for (std::size_t j = 0; j < n; ++j) e.logits.push_back(normal(engine));
            if (weighted) {
              for (std::size_t j = 0; j < n; ++j) e.weights.push_back(std::fabs(normal(engine)));
            }
            result.push_back(e);
          }
        }
      }
    }
  }
  return result;
}

// Central differences of the loss at 256 bits: (l(x + h) - l(x - h)) / 2h = dl/dx + O(h^2), h = 2^-40.
Enclosure difference_quotient(const Example& e, std::size_t j) {
  Example up = e, down = e;
  up.logits[j] = std::ldexp(std::round(std::ldexp(e.logits[j], 40)) + 1, -40);
  down.logits[j] = up.logits[j] - 0x1p-39;
  const CrossEntropyOracle above(up.logits, e.label, e.options, e.weights);
  const CrossEntropyOracle below(down.logits, e.label, e.options, e.weights);
  return (above.loss() - below.loss()) * Enclosure::power_of_two(39);
}

TEST(CrossEntropy, TheLossIsArbsAndTheGradientIsItsDerivative) {
  if (!arb_available()) GTEST_SKIP() << "built without Arb";
  const PrecisionScope scope(256);
  for (const Example& e : examples()) {
    const CrossEntropyOracle oracle(e.logits, e.label, e.options, e.weights);
    const auto weight = [&](std::size_t j) { return Enclosure(e.weights.empty() ? 1.0 : e.weights[j]); };
    const std::size_t n = e.logits.size();
    if (e.options.softcap == 0) {
      const ArbRowOracle arb(e.logits);
      const Enclosure s(e.options.label_smoothing);
      Enclosure loss = (1 - s) * weight(e.label) * (arb.logsumexp() - Enclosure(e.logits[e.label]));
      for (std::size_t j = 0; j < n; ++j) {
        loss = loss + s / Enclosure::integer(n) * weight(j) * (arb.logsumexp() - Enclosure(e.logits[j]));
      }
      loss = loss + Enclosure(e.options.z_loss) * square(arb.logsumexp());
      EXPECT_TRUE(loss.overlaps(oracle.loss()));
      EXPECT_LE(oracle.loss().width(), 0x1p-240 * (1 + oracle.loss().upper_double()));
    }
    for (std::size_t j = 0; j < n; j += 1 + n / 4) {
      // The step also moves the point by 2^-41, which a second derivative below 100 turns into 2^-34.
      const Enclosure gap = abs(difference_quotient(e, j) - oracle.gradient(j, Enclosure(1)));
      EXPECT_EQ(less_equal(gap, Enclosure(0x1p-33)), Decision::proved) << gap.to_string();
    }
  }
}

TEST(CrossEntropy, TheGradientOfAHardLabelAddsUpToNothing) {
  const PrecisionScope scope(113);
  const std::vector<double> logits{3, -1, 0.25, 100};
  const CrossEntropyOracle oracle(logits, 2);
  Enclosure sum(0);
  for (std::size_t j = 0; j < logits.size(); ++j) sum = sum + oracle.gradient(j, Enclosure(1) / Enclosure(7));
  EXPECT_TRUE(sum.contains(0.0));
  EXPECT_LT(sum.width(), 0x1p-100);
}

TEST(CrossEntropy, RowsThatAreNoneAreRefused) {
  const std::vector<double> row{1, 2}, none, with_nan{1, NAN}, masked{1, -INFINITY}, three{1, 1, 1}, negative{1, -1};
  EXPECT_THROW(CrossEntropyOracle(row, 2), std::invalid_argument);
  EXPECT_THROW(CrossEntropyOracle(none, 0), std::invalid_argument);
  EXPECT_THROW(CrossEntropyOracle(with_nan, 0), std::invalid_argument);
  EXPECT_THROW(CrossEntropyOracle(masked, 1), std::invalid_argument);
  EXPECT_NO_THROW(CrossEntropyOracle(masked, 0));
  EXPECT_THROW(CrossEntropyOracle(masked, 0, {.label_smoothing = 0.1}), std::invalid_argument);
  EXPECT_THROW(CrossEntropyOracle(row, 0, {}, three), std::invalid_argument);
  EXPECT_THROW(CrossEntropyOracle(row, 0, {}, negative), std::invalid_argument);
  EXPECT_THROW(CrossEntropyOracle(row, 0, {.label_smoothing = 1.5}), std::invalid_argument);
  EXPECT_THROW(CrossEntropyOracle(row, 0, {.z_loss = -1}), std::invalid_argument);
  EXPECT_THROW(CrossEntropyOracle(row, 0, {.softcap = INFINITY}), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::numerics
