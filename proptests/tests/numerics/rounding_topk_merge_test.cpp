// B18 against simulated kernels that choose and weigh in every granted way, and B7, B8, B10 and B11, with wrong
// versions.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "numerics/oracles/adaptive_oracle.hpp"
#include "numerics/rounding/rounding_topk.hpp"
#include "proptests/tests/numerics/bound_shares.hpp"
#include "proptests/tests/numerics/row_families.hpp"
#include "proptests/tests/numerics/row_op_bounds.hpp"
#include "theory/adaptive_temperature.hpp"

namespace softcheck::numerics::topk_test {
namespace {

using simulated::Arithmetic;
using simulated::BoundShares;
using simulated::Errors;
using simulated::Items;
using simulated::Kernel;
using simulated::Plan;
using Threshold = TopkThreshold<UpperBound>;

constexpr auto threshold_of = [](const Contract& contract, std::span<const double> logits) {
  return simulated::selection_threshold<Threshold>(contract, logits);
};

std::vector<double> at(std::span<const double> values, const Items& items) {
  std::vector<double> result;
  for (const std::size_t i : items) result.push_back(values[i]);
  return result;
}

// Divided by their sum, which is added one after the other, from the first or from the last on.
std::vector<double> over_their_sum(const Arithmetic& a, std::vector<double> weights, bool backwards, bool reciprocal) {
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) sum = a.add(sum, weights[backwards ? weights.size() - 1 - i : i]);
  const double inverse = a.divide(1, sum);
  for (double& w : weights) w = a.output(reciprocal ? a.multiply(w, inverse) : a.divide(w, sum));
  return weights;
}

// |computed r_j - r_j| of the chosen items, and their exact weights.
struct Renormalised {
  Renormalised(const Threshold& threshold, std::span<const double> logits, const Items& items)
      : oracle(at(logits, items)) {
    const double maximum = *std::max_element(logits.begin(), logits.end());
    const auto chosen = row_statistics<UpperBound>(oracle);
    const auto top = bound_of<UpperBound>(Enclosure(maximum) - Enclosure(oracle.maximum()));
    granted = threshold.renormalised({items.size(), top, chosen.mean_deviation});
  }
  double bound(std::size_t j) const {
    if (!oracle.is_visible(j)) return 0;
    return upper(granted.at(bound_of<UpperBound>(oracle.deviation(j)), bound_of<UpperBound>(oracle.softmax(j))));
  }
  RowOracle oracle;
  ElementThreshold<UpperBound> granted;
};

// By how much a chosen item's logit lies below one that is not chosen, as a share of what may be exchanged.
void check_exchange(const Threshold& threshold, std::span<const double> logits, const Items& items,
                    BoundShares& shares) {
  const double maximum = *std::max_element(logits.begin(), logits.end());
  const std::vector<double> chosen = at(logits, items);
  const double least = *std::min_element(chosen.begin(), chosen.end());
  if (std::isinf(least)) return;
  const auto deviation = [&](double x) { return bound_of<UpperBound>(Enclosure(maximum) - Enclosure(x)); };
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] > least) || std::find(items.begin(), items.end(), i) != items.end()) continue;
    const double allowed = upper(threshold.exchange(deviation(logits[i]), deviation(least)));
    shares.judge("exchanged", abs(Enclosure(logits[i]) - Enclosure(least)), allowed);
  }
}

void check_kernel(const Contract& contract, std::span<const double> logits, std::size_t k, Errors errors,
                  const Plan& plan, BoundShares& shares) {
  const Threshold threshold = threshold_of(contract, logits);
  const RowOracle oracle(logits);
  const std::vector<double> p = Kernel(contract, errors, plan)(logits).coefficients;
  Items items = simulated::descending_items(p);
  items.resize(k);
  check_exchange(threshold, logits, items, shares);
  for (const std::size_t i : items) {
    if (!oracle.is_visible(i)) continue;
    const double bound = upper(
        threshold.weights().at(bound_of<UpperBound>(oracle.deviation(i)), bound_of<UpperBound>(oracle.softmax(i))));
    shares.judge("plain", p[i], oracle.softmax(i), bound);
  }
  const std::vector<double> chosen = at(logits, items);
  if (std::isinf(*std::max_element(chosen.begin(), chosen.end()))) return;
  const Renormalised renormalised(threshold, logits, items);
  const Arithmetic arithmetic(contract, errors);
  std::vector<std::vector<double>> results{Kernel(contract, errors, {})(chosen).coefficients};
  const std::vector<double> weights = at(p, items);
  if (std::accumulate(weights.begin(), weights.end(), 0.0) > 0) {
    for (const bool backwards : {false, true}) {
      results.push_back(over_their_sum(arithmetic, weights, backwards, plan.reciprocal));
    }
  }
  for (const std::vector<double>& got : results) {
    for (std::size_t j = 0; j < k; ++j) {
      shares.judge("renormalised", got[j], renormalised.oracle.softmax(j), renormalised.bound(j));
    }
  }
}

// Labelled full: RoundingTopk.KernelsThatChooseByTheirCoefficientsKeepTheBounds
TEST(RoundingTopk, KernelsThatChooseByTheirCoefficientsKeepTheBounds) {
  const auto check = [](const Contract& contract, const tests::NamedRow& row, BoundShares& shares) {
    const std::size_t n = row.logits.size();
    for (const std::size_t k : {std::size_t{1}, std::size_t{2}, (n + 1) / 2, n}) {
      if (k > n) continue;
      SCOPED_TRACE(row.name + ", k = " + std::to_string(k));
      simulated::for_each_selecting_kernel(
          1, [&](Errors errors, const Plan& plan) { check_kernel(contract, row.logits, k, errors, plan, shares); });
    }
  };
  simulated::expect_bounds(simulated::selection_settings, {1, 2, 3, 8, 40}, simulated::selection_rows, check);
}

// Of two items the smaller exponential errs upwards, the larger one downwards. Where the kernel then prefers the
// smaller item: by how much its logit is smaller, over what the contract and a wrong one allow.
void expect_exchange_reached(const char* words, const char* wrong_words, double high, double step) {
  const PrecisionScope scope(113);
  const Contract contract = simulated::f32_contract(words), wrong = simulated::f32_contract(wrong_words);
  BoundShares right, planted;
  for (int steps = 1; steps < 120; ++steps) {
    const double low = high - steps * step;
    const std::vector<double> logits{0, high, low, 0};  // no maximum rises from either end
    Arithmetic up(contract, Errors::up), down(contract, Errors::down);
    if (!(up.exponential(low) >= down.exponential(high))) continue;
    const auto share = [&](const Contract& of) {
      return (high - low) / upper(threshold_of(of, logits).exchange(UpperBound(-high), UpperBound(-low)));
    };
    right.raise("exchanged", share(contract));
    planted.raise("planted", share(wrong));
  }
  right.expect(words, 0.8);
  planted.print(words);
  EXPECT_GT(planted.largest(), 1);
}

TEST(RoundingTopk, ExponentialsThatErrApartReachTheExchange) {
  expect_exchange_reached("exp=E:50,A:1 subnormal=kept", "exp=E:25,A:1 subnormal=kept", -1, 0x1p-23);
}

// A long argument: A roundings of D each, in opposite directions.
TEST(RoundingTopk, ArgumentsThatErrApartAreExchangedByTheirDeviations) {
  expect_exchange_reached("exp=E:1,A:50 subnormal=kept", "exp=E:1,A:1 subnormal=kept", -32, 0x1p-18);
}

// Each of the other weights is a little above half of the last place of the first, which is a little below 1: every
// addition rounds up, by half of what it may, until the sum is 1.
TEST(RoundingTopk, ASumOfHalfUlpsReachesTheRenormalisedBound) {
  const PrecisionScope scope(113);
  const Contract contract = simulated::f32_contract("exp=0.5ulp subnormal=kept sum=tree");
  const std::vector<double> logits = simulated::half_ulp_row(2048, 25, 0x1p-7);
  Items items(1000);
  std::iota(items.begin(), items.end(), 0);
  const Threshold threshold = threshold_of(contract, logits);
  const Renormalised right(threshold, logits, items);
  const std::vector<double> p = Kernel(contract, Errors::nearest, {})(logits).coefficients;
  const double got = over_their_sum(Arithmetic(contract, Errors::nearest), at(p, items), false, false)[0];
  const Enclosure exact = right.oracle.softmax(0);
  // The height of the contract's tree in place of k - 1 additions.
  const auto wrong =
      threshold.renormalised({11, UpperBound(0), row_statistics<UpperBound>(right.oracle).mean_deviation});
  simulated::expect_needed("renormalised", got, exact, right.bound(0),
                           upper(wrong.at(UpperBound(0), bound_of<UpperBound>(exact))), 0.45);
}

// A bound without the errors of the items' own exponentials: the sum that cancels is no excuse for them.
TEST(RoundingTopk, ABoundWithoutTheExponentialsErrorIsRejected) {
  const PrecisionScope scope(113);
  const Contract contract = simulated::f32_contract("exp=E:50,A:1"), wrong = simulated::f32_contract("exp=E:1,A:1");
  const std::vector<double> logits{0, -1, -20};
  const Items items{0, 1};
  const std::vector<double> p = Kernel(contract, Errors::up_below_one, {})(logits).coefficients;
  const double got = over_their_sum(Arithmetic(contract, Errors::nearest), at(p, items), false, false)[1];
  const Renormalised right(threshold_of(contract, logits), logits, items),
      left(threshold_of(wrong, logits), logits, items);
  simulated::expect_needed("renormalised", got, right.oracle.softmax(1), right.bound(1), left.bound(1));
}

// A coefficient that may be flushed is no larger than any other; one that may not be is.
TEST(RoundingTopk, OnlyACoefficientThatMayBeLostIsExchangedWithAnything) {
  const PrecisionScope scope(113);
  const std::vector<double> logits{0, -50, -86, -95, -120};
  const Threshold threshold = threshold_of(simulated::f32_contract("subnormal=flushed"), logits);
  const auto exchange = [&](double d) { return upper(threshold.exchange(UpperBound(d), UpperBound(d))); };
  EXPECT_LT(exchange(50), 1e-4);
  EXPECT_TRUE(std::isinf(exchange(95)));
  EXPECT_TRUE(std::isinf(exchange(120)));
}

}  // namespace
}  // namespace softcheck::numerics::topk_test

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
