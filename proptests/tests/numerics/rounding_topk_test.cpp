// B18 against simulated kernels that choose and weigh in every granted way, with wrong versions of it.

#include "numerics/rounding/rounding_topk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "proptests/tests/numerics/selection_bounds.hpp"

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
