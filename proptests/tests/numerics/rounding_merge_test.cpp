// B7, B8, B10 and B11 against simulated kernels, with wrong versions of them.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "numerics/oracles/adaptive_oracle.hpp"
#include "proptests/tests/numerics/bound_shares.hpp"
#include "proptests/tests/numerics/row_families.hpp"
#include "theory/adaptive_temperature.hpp"

namespace softcheck::numerics {
namespace {

using simulated::Arithmetic;
using simulated::BoundShares;
using simulated::Errors;

std::vector<tests::NamedRow> float_rows(Format format, std::size_t n) { return tests::rows_in(format, n, 7, 1e30); }

// Entropy as m + ln S - T / S with T = sum w x, in index order.
double uncentred_entropy(Arithmetic& a, const std::vector<double>& logits) {
  const double maximum = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  double moment = 0;
  for (const double x : logits) {
    if (std::isinf(x)) continue;
    const double weight = a.exponential(a.subtract(x, maximum));
    sum = a.add(sum, weight);
    moment = a.add(moment, a.multiply(weight, x));
  }
  return a.output(a.subtract(a.add(maximum, a.logarithm(sum)), a.divide(moment, sum)));
}

// Entropy as -sum p ln p.
double entropy_of_coefficients(Arithmetic& a, const std::vector<double>& logits, double epsilon) {
  const double maximum = *std::max_element(logits.begin(), logits.end());
  std::vector<double> weights;
  double sum = 0;
  for (const double x : logits) {
    weights.push_back(std::isinf(x) ? 0 : a.exponential(a.subtract(x, maximum)));
    sum = a.add(sum, weights.back());
  }
  double total = 0;
  for (const double weight : weights) {
    const double p = a.divide(weight, sum);
    const double shifted = epsilon == 0 ? p : a.add(p, a.round(epsilon));
    if (shifted > 0) total = a.add(total, a.multiply(p, a.logarithm(shifted)));
  }
  return -total;
}

constexpr std::array<Errors, 4> merge_errors{Errors::nearest, Errors::up, Errors::down, Errors::up_below_one};

TEST(RoundingMerge, UncentredAndDirectEntropiesKeepTheirBounds) {
  const auto check = [](const Contract& contract, const tests::NamedRow& row, BoundShares& shares) {
    const RowOracle oracle(row.logits);
    const auto statistics = row_statistics<UpperBound>(oracle);
    const double uncentred = upper(entropy_uncentred_error(contract, statistics).total());
    const double direct = upper(entropy_of_coefficients_error(contract, statistics).total());
    for (const Errors errors : merge_errors) {
      Arithmetic arithmetic(contract, errors);
      shares.judge("B7", uncentred_entropy(arithmetic, row.logits), oracle.entropy(), uncentred);
      shares.judge("B6d", entropy_of_coefficients(arithmetic, row.logits, 0), oracle.entropy(), direct);
      shares.judge("B6d of the paper's", entropy_of_coefficients(arithmetic, row.logits, 1e-9),
                   entropy_with_epsilon(oracle), direct);
    }
  };
  const std::vector<simulated::BoundSetting> settings{
      {Format::f32, Format::f32, "acc=f32 exp=1ulp"},
      {Format::f32, Format::f32, "acc=f32 exp=E:50,A:3 subnormal=kept"},
  };
  simulated::expect_bounds(settings, {1, 2, 3, 8, 33, 200}, float_rows, check);
}

TEST(RoundingMerge, TheCentredBoundRejectsTheUncentredEntropy) {
  // Bug class C13: logits + 65536 cost the uncentred form four digits; B6 must not forgive that.
  const PrecisionScope scope(113);
  const Contract contract = default_contract(Format::f32, Format::f32);
  std::vector<double> logits;
  for (int i = 0; i < 64; ++i) logits.push_back(65536 + (i * 37 % 64) * 0.0625);
  const RowOracle oracle(logits);
  const auto row = row_statistics<UpperBound>(oracle);
  Arithmetic arithmetic(contract, Errors::nearest);
  const double got = uncentred_entropy(arithmetic, logits);
  const double right = upper(entropy_uncentred_error(contract, row).total());
  simulated::expect_needed("B7", got, oracle.entropy(), right, upper(entropy_error(contract, row).total()));
  // B7 without its |m|.
  auto planted = row;
  planted.maximum_magnitude = UpperBound();
  const double wrong = upper(entropy_uncentred_error(contract, planted).total());
  simulated::expect_needed("B7", got, oracle.entropy(), right, wrong);
}

TEST(RoundingMerge, WeightsFromLogSumExpsKeepTheirBoundAndNeedTheirMagnitude) {
  const PrecisionScope scope(113);
  const Contract contract = default_contract(Format::f32, Format::f32);
  BoundShares shares;
  for (const double shift : {0.0, 3.0, -700.0, 65536.0, 1e6}) {
    for (const Errors errors : merge_errors) {
      Arithmetic a(contract, errors);
      // The parts' values are exact here; each may be off by part_error, here half a unit of 2^-20.
      const std::vector<double> parts{a.round(shift), a.round(shift - 1.375), a.round(shift - 9.5)};
      const RowOracle oracle(parts);
      const UpperBound magnitude(abs(oracle.logsumexp()).upper_double() + std::abs(shift - 9.5));
      const auto threshold = merge_by_lse_error<UpperBound>(contract, 3, UpperBound(), magnitude);
      const auto planted = merge_by_lse_error<UpperBound>(contract, 3, UpperBound(), UpperBound());
      const double maximum = *std::max_element(parts.begin(), parts.end());
      double sum = 0;
      for (const double x : parts) sum = a.add(sum, a.exponential(a.subtract(x, maximum)));
      const double merged = a.add(maximum, a.logarithm(sum));
      for (std::size_t k = 0; k < parts.size(); ++k) {
        const double difference = std::min(a.subtract(parts[k], merged), 0.0);
        const double weight = a.exponential(difference);
        const UpperBound deviation = simulated::above(oracle.logsumexp() - Enclosure(parts[k]));
        const UpperBound exact(oracle.softmax(k).upper_double());
        shares.judge("B8", weight, oracle.softmax(k), upper(threshold.at(deviation, exact)));
        shares.judge_wrong(weight, oracle.softmax(k), upper(planted.at(deviation, exact)));
      }
    }
  }
  shares.print("merges");
  EXPECT_GT(shares.exceeded(), 0u) << "B8 without |L| passed everywhere";
}

struct AdaptiveSimulation {
  std::vector<double> coefficients;
  double beta;
};

AdaptiveSimulation adaptive_softmax(Arithmetic& a, const std::vector<double>& logits, double epsilon) {
  const double entropy = entropy_of_coefficients(a, logits, epsilon);
  double polynomial = a.round(-0.037);
  for (const double coefficient : {0.481, -2.3, 4.917, -1.791}) {
    polynomial = a.add(a.multiply(polynomial, entropy), a.round(coefficient));
  }
  const double beta = entropy > 0.5 ? std::max(polynomial, 1.0) : 1.0;
  const double maximum = *std::max_element(logits.begin(), logits.end());
  std::vector<double> weights;
  double sum = 0;
  for (const double x : logits) {
    weights.push_back(std::isinf(x) ? 0 : a.exponential(a.multiply(a.subtract(x, maximum), beta)));
    sum = a.add(sum, weights.back());
  }
  AdaptiveSimulation result{{}, beta};
  for (const double weight : weights) result.coefficients.push_back(a.output(a.divide(weight, sum)));
  return result;
}

TEST(RoundingMerge, AdaptiveSoftmaxKeepsItsBoundAndNeedsTheTemperaturesError) {
  std::size_t exceeded = 0;
  const auto check = [&](const Contract& contract, const tests::NamedRow& row, BoundShares& shares) {
    const bool paper = contract.entropy == EntropyForm::paper;
    const std::vector<double>& logits = row.logits;
    const AdaptiveRowOracle oracle(logits, paper ? EntropyDefinition::paper : EntropyDefinition::exact);
    const auto plain = row_statistics<UpperBound>(RowOracle(logits));
    const auto scaled = row_statistics<UpperBound>(oracle.sharpened());
    const auto threshold = adaptive_temperature_error(contract, plain, scaled);
    // Planted: B2 of the scaled row alone, as if beta were exact.
    const auto planted = softmax_error(contract, scaled);
    for (const Errors errors : merge_errors) {
      Arithmetic arithmetic(contract, errors);
      const AdaptiveSimulation got = adaptive_softmax(arithmetic, logits, paper ? 1e-9 : 0);
      SCOPED_TRACE(row.name + " beta " + std::to_string(got.beta));
      for (std::size_t i = 0; i < logits.size(); ++i) {
        if (std::isinf(logits[i])) continue;
        const Enclosure exact = oracle.softmax(i);
        const UpperBound deviation = simulated::above(oracle.sharpened().deviation(i)), value(exact.upper_double());
        shares.judge("B10", got.coefficients[i], exact, upper(threshold.at(deviation, value)));
        exceeded += simulated::exceeds(got.coefficients[i], exact, upper(planted.at(deviation, value))) ? 1 : 0;
      }
    }
  };
  const std::vector<simulated::BoundSetting> settings{
      {Format::f32, Format::f32, "exp=1ulp"},
      {Format::f32, Format::f32, "exp=1ulp entropy=paper"},
      {Format::f32, Format::f32, "exp=E:50,A:3"},
      {Format::f32, Format::f32, "exp=1ulp entropy=exact"},
  };
  simulated::expect_bounds(settings, {1, 2, 5, 17, 64, 300}, float_rows, check);
  EXPECT_GT(exceeded, 0u);
}

TEST(RoundingMerge, ThePolynomialsLipschitzConstantHolds) {
  // max(P, 1) is flat outside the active interval, which lies in [0.8485, 5.94453]. Inside, |P'| is at most the
  // constant that AdaptiveTemperature.ThePublishedQuarticHasItsPublishedFacts certifies; B10 counts with 2.526.
  const PrecisionScope scope(113);
  for (const double end : {0.8485, 5.94453}) {
    EXPECT_TRUE((1 - inverse_temperature_polynomial(Enclosure(end))).certainly_positive());
  }
  EXPECT_EQ(less_equal(Enclosure::decimal(theory::lipschitz_constant), Enclosure::decimal("2.526")), Decision::proved);
}

TEST(RoundingMerge, TheEpsilonGapHoldsAndIsNearlyReached) {
  const PrecisionScope scope(113);
  for (const std::size_t n : {1, 2, 100, 5000}) {
    const std::vector<double> logits(n, 0.5);
    const RowOracle oracle(logits);
    const Enclosure gap = oracle.entropy() - entropy_with_epsilon(oracle);
    EXPECT_TRUE(gap.certainly_nonnegative());
    EXPECT_TRUE(simulated::holds(gap, upper(epsilon_entropy_gap<UpperBound>(n))));
    // Uniform rows reach it; half of it is no bound.
    EXPECT_FALSE(simulated::holds(gap, upper(epsilon_entropy_gap<UpperBound>(n)) / 2));
  }
}

}  // namespace
}  // namespace softcheck::numerics
