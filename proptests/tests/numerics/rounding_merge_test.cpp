// B7, B8, B10 and B11 against simulated kernels, with wrong versions of them.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <iostream>
#include <vector>

#include "numerics/oracles/adaptive_oracle.hpp"
#include "proptests/tests/numerics/bound_ratio.hpp"
#include "proptests/tests/numerics/row_families.hpp"

namespace softcheck::numerics {
namespace {

using simulated::Arithmetic;
using simulated::Errors;

std::vector<std::vector<double>> float_rows(std::size_t n, double largest) {
  std::vector<std::vector<double>> rows;
  for (tests::NamedRow& row : tests::row_families(n, 7)) {
    for (double& x : row.logits) {
      if (std::isfinite(x)) x = std::clamp(static_cast<double>(static_cast<float>(x)), -largest, largest);
    }
    rows.push_back(std::move(row.logits));
  }
  return rows;
}

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
  const PrecisionScope scope(113);
  double uncentred_share = 0;
  double direct_share = 0;
  for (const char* words : {"acc=f32 exp=1ulp", "acc=f32 exp=E:50,A:3 subnormal=kept", "acc=bf16 exp=1ulp"}) {
    const Contract contract = parse_contract(words, Format::f32, Format::f32);
    for (const std::size_t n : {1, 2, 3, 8, 33, 200}) {
      for (const std::vector<double>& logits : float_rows(n, 1e30)) {
        const RowOracle oracle(logits);
        const auto row = row_statistics<UpperBound>(oracle);
        const double uncentred = upper(entropy_uncentred_error(contract, row).total());
        const double direct = upper(entropy_of_coefficients_error(contract, row).total());
        for (const Errors errors : merge_errors) {
          Arithmetic arithmetic(contract, errors);
          const bool narrow = contract.accumulator != Format::f32;  // conversion of the logits is the other test's
          if (!narrow) {
            const double got = uncentred_entropy(arithmetic, logits);
            uncentred_share = std::max(uncentred_share, simulated::used(got, oracle.entropy(), uncentred));
            EXPECT_TRUE(simulated::holds(got, oracle.entropy(), uncentred)) << words << " n " << n << " got " << got;
            const double exact_form = entropy_of_coefficients(arithmetic, logits, 0);
            direct_share = std::max(direct_share, simulated::used(exact_form, oracle.entropy(), direct));
            EXPECT_TRUE(simulated::holds(exact_form, oracle.entropy(), direct)) << words << " n " << n;
            const double paper_form = entropy_of_coefficients(arithmetic, logits, 1e-9);
            EXPECT_TRUE(simulated::holds(paper_form, entropy_with_epsilon(oracle), direct)) << words << " n " << n;
          }
        }
      }
    }
  }
  std::cout << "largest error/bound: B7 " << uncentred_share << ", B6d " << direct_share << '\n';
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
  EXPECT_TRUE(simulated::holds(got, oracle.entropy(), upper(entropy_uncentred_error(contract, row).total())));
  EXPECT_TRUE(simulated::exceeds(got, oracle.entropy(), upper(entropy_error(contract, row).total())));
  // B7 without its |m|.
  auto planted = row;
  planted.maximum_magnitude = UpperBound();
  EXPECT_TRUE(simulated::exceeds(got, oracle.entropy(), upper(entropy_uncentred_error(contract, planted).total())));
}

TEST(RoundingMerge, WeightsFromLogSumExpsKeepTheirBoundAndNeedTheirMagnitude) {
  const PrecisionScope scope(113);
  const Contract contract = default_contract(Format::f32, Format::f32);
  double share = 0;
  bool planted_rejected = false;
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
        const UpperBound deviation(std::max((oracle.logsumexp() - Enclosure(parts[k])).upper_double(), 0.0));
        const UpperBound exact(oracle.softmax(k).upper_double());
        share = std::max(share, simulated::used(weight, oracle.softmax(k), upper(threshold.at(deviation, exact))));
        EXPECT_TRUE(simulated::holds(weight, oracle.softmax(k), upper(threshold.at(deviation, exact)))) << shift;
        planted_rejected |= simulated::exceeds(weight, oracle.softmax(k), upper(planted.at(deviation, exact)));
      }
    }
  }
  std::cout << "largest error/bound: B8 " << share << '\n';
  EXPECT_TRUE(planted_rejected) << "B8 without |L| passed everywhere";
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
  const PrecisionScope scope(113);
  double share = 0;
  std::size_t planted_rejected = 0;
  for (const char* words : {"exp=1ulp", "exp=1ulp entropy=paper", "exp=E:50,A:3", "exp=1ulp entropy=exact"}) {
    const Contract contract = parse_contract(words, Format::f32, Format::f32);
    const bool paper = contract.entropy == EntropyForm::paper;
    for (const std::size_t n : {1, 2, 5, 17, 64, 300}) {
      for (const std::vector<double>& logits : float_rows(n, 1e30)) {
        const AdaptiveRowOracle oracle(logits, paper ? EntropyDefinition::paper : EntropyDefinition::exact);
        const RowOracle plain_oracle(logits);
        const auto plain = row_statistics<UpperBound>(plain_oracle);
        const auto scaled = row_statistics<UpperBound>(oracle.sharpened());
        const auto threshold = adaptive_temperature_error(contract, plain, scaled);
        // Planted: B2 of the scaled row alone, as if beta were exact.
        const auto planted = softmax_error(contract, scaled);
        for (const Errors errors : merge_errors) {
          Arithmetic arithmetic(contract, errors);
          const AdaptiveSimulation got = adaptive_softmax(arithmetic, logits, paper ? 1e-9 : 0);
          for (std::size_t i = 0; i < n; ++i) {
            if (std::isinf(logits[i])) continue;
            const Enclosure exact = oracle.softmax(i);
            const UpperBound deviation(std::max(oracle.sharpened().deviation(i).upper_double(), 0.0));
            const UpperBound value(exact.upper_double());
            share = std::max(share, simulated::used(got.coefficients[i], exact, upper(threshold.at(deviation, value))));
            EXPECT_TRUE(simulated::holds(got.coefficients[i], exact, upper(threshold.at(deviation, value))))
                << words << " n " << n << " item " << i << " beta " << got.beta;
            planted_rejected +=
                simulated::exceeds(got.coefficients[i], exact, upper(planted.at(deviation, value))) ? 1 : 0;
          }
        }
      }
    }
  }
  std::cout << "largest error/bound: B10 " << share << ", planted rejected " << planted_rejected << " times\n";
  EXPECT_GT(planted_rejected, 0u);
}

TEST(RoundingMerge, ThePolynomialsLipschitzConstantHolds) {
  // max(P, 1) is flat outside the active interval, which lies in [0.8485, 5.94453]. Inside, by the mean-value form:
  // |P'| <= |P'(centre)| + radius max |P''| on each cell.
  const PrecisionScope scope(113);
  const double lower = 0.8485;
  const double upper_end = 5.94453;
  EXPECT_TRUE((1 - inverse_temperature_polynomial(Enclosure(lower))).certainly_positive());
  EXPECT_TRUE((1 - inverse_temperature_polynomial(Enclosure(upper_end))).certainly_positive());
  const int cells = 32768;
  const double width = (upper_end - lower) / cells;
  for (int i = 0; i < cells; ++i) {
    const Enclosure centre(lower + (i + 0.5) * width);
    const Enclosure radius(width);  // twice what is needed: neighbouring cells overlap
    const Enclosure cell = hull(centre - radius, centre + radius);
    const Enclosure first =
        ((Enclosure::decimal("-0.148") * centre + Enclosure::decimal("1.443")) * centre - Enclosure::decimal("4.6")) *
            centre +
        Enclosure::decimal("4.917");
    const Enclosure second =
        (Enclosure::decimal("-0.444") * cell + Enclosure::decimal("2.886")) * cell - Enclosure::decimal("4.6");
    ASSERT_EQ(less_equal(abs(first) + radius * abs(second), Enclosure::decimal("2.526")), Decision::proved) << i;
  }
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
