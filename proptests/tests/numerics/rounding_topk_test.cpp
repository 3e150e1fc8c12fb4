// Compiled alone: what it simulates bears the names that other tests of bounds have.
// B18 against simulated kernels that choose and weigh in every granted way, with wrong versions of it.

#include "numerics/rounding/rounding_topk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <numeric>
#include <vector>

#include "proptests/tests/numerics/bound_ratio.hpp"
#include "proptests/tests/numerics/row_families.hpp"

namespace softcheck::numerics {
namespace {

using simulated::Arithmetic;
using simulated::Errors;
using simulated::Kernel;
using simulated::Plan;

using Items = std::vector<std::size_t>;

std::vector<double> at(std::span<const double> values, const Items& items) {
  std::vector<double> result;
  for (const std::size_t i : items) result.push_back(values[i]);
  return result;
}

// The k largest, of equal ones any.
Items largest(std::span<const double> values, std::size_t k) {
  Items order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  order.resize(k);
  return order;
}

// Divided by their sum, which is added one after the other, from the first or from the last on.
std::vector<double> over_their_sum(const Arithmetic& a, std::vector<double> weights, bool backwards, bool reciprocal) {
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) sum = a.add(sum, weights[backwards ? weights.size() - 1 - i : i]);
  const double inverse = a.divide(1, sum);
  for (double& w : weights) w = a.output(reciprocal ? a.multiply(w, inverse) : a.divide(w, sum));
  return weights;
}

TopkThreshold<UpperBound> threshold_of(const Contract& contract, std::span<const double> logits) {
  return {contract, row_statistics<UpperBound>(RowOracle(logits), rescaling_count(contract, logits))};
}

// |computed r_j - r_j| of the chosen items, and their exact weights.
struct Renormalised {
  Renormalised(const TopkThreshold<UpperBound>& threshold, std::span<const double> logits, const Items& items)
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

struct ChoiceShares {
  double plain = 0, renormalised = 0, exchange = 0;
};

// By how much a chosen item's logit lies below one that is not chosen, as a share of what may be exchanged.
void check_exchange(const TopkThreshold<UpperBound>& threshold, std::span<const double> logits, const Items& items,
                    ChoiceShares& shares) {
  const double maximum = *std::max_element(logits.begin(), logits.end());
  const std::vector<double> chosen = at(logits, items);
  const double least = *std::min_element(chosen.begin(), chosen.end());
  if (std::isinf(least)) return;
  const auto deviation = [&](double x) { return bound_of<UpperBound>(Enclosure(maximum) - Enclosure(x)); };
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] > least) || std::find(items.begin(), items.end(), i) != items.end()) continue;
    const double allowed = upper(threshold.exchange(deviation(logits[i]), deviation(least)));
    ASSERT_TRUE(simulated::holds(abs(Enclosure(logits[i]) - Enclosure(least)), allowed)) << logits[i] << " " << least;
    shares.exchange = std::max(shares.exchange, simulated::used(logits[i], Enclosure(least), allowed));
  }
}

void check_kernel(const Contract& contract, std::span<const double> logits, std::size_t k, Errors errors,
                  const Plan& plan, ChoiceShares& shares) {
  const TopkThreshold<UpperBound> threshold = threshold_of(contract, logits);
  const RowOracle oracle(logits);
  const std::vector<double> p = Kernel(contract, errors, plan)(logits).coefficients;
  const Items items = largest(p, k);
  check_exchange(threshold, logits, items, shares);
  for (const std::size_t i : items) {
    if (!oracle.is_visible(i)) continue;
    const double bound = upper(
        threshold.weights().at(bound_of<UpperBound>(oracle.deviation(i)), bound_of<UpperBound>(oracle.softmax(i))));
    ASSERT_TRUE(simulated::holds(p[i], oracle.softmax(i), bound));
    shares.plain = std::max(shares.plain, simulated::used(p[i], oracle.softmax(i), bound));
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
      const double bound = renormalised.bound(j);
      ASSERT_TRUE(simulated::holds(got[j], renormalised.oracle.softmax(j), bound)) << got[j] << " k=" << k;
      shares.renormalised =
          std::max(shares.renormalised, simulated::used(got[j], renormalised.oracle.softmax(j), bound));
    }
  }
}

std::vector<std::vector<double>> rows_of(Format format, std::size_t n) {
  std::vector<std::vector<double>> rows;
  for (tests::NamedRow& row : tests::row_families(n, 11)) {
    for (double& x : row.logits) {
      if (std::isfinite(x)) x = round_to(format, std::clamp(x, -1e4, 1e4));
    }
    rows.push_back(std::move(row.logits));
  }
  // Neighbours in the format, whose coefficients change places.
  std::vector<double> close;
  for (std::size_t i = 0; i < n; ++i) {
    close.push_back(round_to(format, 1 - static_cast<double>(i % 7) * properties(format).unit_roundoff));
  }
  rows.push_back(std::move(close));
  return rows;
}

constexpr std::array<Errors, 5> choice_errors{Errors::nearest, Errors::up, Errors::down, Errors::random,
                                              Errors::up_below_one};

TEST(RoundingTopk, KernelsThatChooseByTheirCoefficientsKeepTheBounds) {
  const PrecisionScope scope(113);
  struct Case {
    const char* words;
    Format input, output;
  };
  for (const Case& c : {Case{"acc=f32 exp=1ulp", Format::f32, Format::f32},
                        Case{"acc=f32 exp=E:50,A:3 subnormal=kept sum=tree", Format::f32, Format::f32},
                        Case{"acc=f64 exp=1ulp", Format::f64, Format::f64},
                        Case{"acc=f32 exp=1ulp weights=bf16", Format::bf16, Format::f32},
                        Case{"acc=f32 exp=1ulp", Format::bf16, Format::bf16},
                        Case{"acc=f16 exp=1ulp sum=tree", Format::f16, Format::f16},
                        Case{"acc=bf16 exp=1ulp sum=tree", Format::bf16, Format::f32}}) {
    ChoiceShares shares;
    const Contract contract = parse_contract(c.words, c.input, c.output);
    for (const std::size_t n : {1, 2, 3, 8, 40}) {
      for (const std::vector<double>& logits : rows_of(c.input, n)) {
        for (const std::size_t k : {std::size_t{1}, std::size_t{2}, (n + 1) / 2, n}) {
          if (k > n) continue;
          for (const Errors errors : choice_errors) {
            for (const bool other : {false, true}) {
              check_kernel(contract, logits, k, errors, {.online = other, .recompute = other, .reciprocal = other},
                           shares);
              if (HasFatalFailure()) return;
            }
          }
        }
      }
    }
    std::cout << c.words << ": largest error/bound B18 plain " << shares.plain << ", renormalised "
              << shares.renormalised << ", exchanged " << shares.exchange << '\n';
    EXPECT_GT(std::max({shares.plain, shares.renormalised, shares.exchange}), 0.3);
  }
}

struct ExchangeShares {
  double contract = 0, wrong = 0;
};

// Of two items the smaller exponential errs upwards, the larger one downwards. Where the kernel then prefers the
// smaller item: by how much its logit is smaller, over what the contract and a wrong one allow.
ExchangeShares exchange_shares(const char* words, const char* wrong_words, double high, double step) {
  const Contract contract = parse_contract(words, Format::f32, Format::f32);
  const Contract wrong = parse_contract(wrong_words, Format::f32, Format::f32);
  ExchangeShares shares;
  for (int steps = 1; steps < 120; ++steps) {
    const double low = high - steps * step;
    const std::vector<double> logits{0, high, low, 0};  // no maximum rises from either end
    Arithmetic up(contract, Errors::up), down(contract, Errors::down);
    if (!(up.exponential(low) >= down.exponential(high))) continue;
    const auto share_of = [&](const Contract& of) {
      return (high - low) / upper(threshold_of(of, logits).exchange(UpperBound(-high), UpperBound(-low)));
    };
    shares.contract = std::max(shares.contract, share_of(contract));
    shares.wrong = std::max(shares.wrong, share_of(wrong));
  }
  std::cout << words << ": exchanged " << shares.contract << ", planted " << shares.wrong << '\n';
  return shares;
}

TEST(RoundingTopk, ExponentialsThatErrApartReachTheExchange) {
  const PrecisionScope scope(113);
  const ExchangeShares shares =
      exchange_shares("exp=E:50,A:1 subnormal=kept", "exp=E:25,A:1 subnormal=kept", -1, 0x1p-23);
  EXPECT_LE(shares.contract, 1);
  EXPECT_GT(shares.contract, 0.8);
  EXPECT_GT(shares.wrong, 1);
}

// A long argument: A roundings of D each, in opposite directions.
TEST(RoundingTopk, ArgumentsThatErrApartAreExchangedByTheirDeviations) {
  const PrecisionScope scope(113);
  const ExchangeShares shares =
      exchange_shares("exp=E:1,A:50 subnormal=kept", "exp=E:1,A:1 subnormal=kept", -32, 0x1p-18);
  EXPECT_LE(shares.contract, 1);
  EXPECT_GT(shares.contract, 0.8);
  EXPECT_GT(shares.wrong, 1);
}

// Each of the other weights is a little above half of the last place of the first, which is a little below 1: every
// addition rounds up, by half of what it may, until the sum is 1.
TEST(RoundingTopk, ASumOfHalfUlpsReachesTheRenormalisedBound) {
  const PrecisionScope scope(113);
  const Contract contract = parse_contract("exp=0.5ulp subnormal=kept sum=tree", Format::f32, Format::f32);
  std::vector<double> logits(2049, static_cast<float>(-25 * std::log(2.0) + 0x1p-7));
  logits.front() = 0;
  Items items(1000);
  std::iota(items.begin(), items.end(), 0);
  const TopkThreshold<UpperBound> threshold = threshold_of(contract, logits);
  const Renormalised right(threshold, logits, items);
  const std::vector<double> p = Kernel(contract, Errors::nearest, {})(logits).coefficients;
  const double got = over_their_sum(Arithmetic(contract, Errors::nearest), at(p, items), false, false)[0];
  const Enclosure exact = right.oracle.softmax(0);
  EXPECT_TRUE(simulated::holds(got, exact, right.bound(0)));
  std::cout << "half ulps: renormalised " << simulated::used(got, exact, right.bound(0)) << '\n';
  EXPECT_GT(simulated::used(got, exact, right.bound(0)), 0.45);
  // The height of the contract's tree in place of k - 1 additions.
  const auto wrong =
      threshold.renormalised({11, UpperBound(0), row_statistics<UpperBound>(right.oracle).mean_deviation});
  EXPECT_TRUE(simulated::exceeds(got, exact, upper(wrong.at(UpperBound(0), bound_of<UpperBound>(exact)))));
}

// A bound without the errors of the items' own exponentials: the sum that cancels is no excuse for them.
TEST(RoundingTopk, ABoundWithoutTheExponentialsErrorIsRejected) {
  const PrecisionScope scope(113);
  const Contract contract = parse_contract("exp=E:50,A:1", Format::f32, Format::f32);
  const Contract wrong = parse_contract("exp=E:1,A:1", Format::f32, Format::f32);
  const std::vector<double> logits{0, -1, -20};
  const Items items{0, 1};
  const std::vector<double> p = Kernel(contract, Errors::up_below_one, {})(logits).coefficients;
  const double got = over_their_sum(Arithmetic(contract, Errors::nearest), at(p, items), false, false)[1];
  const Renormalised right(threshold_of(contract, logits), logits, items),
      left(threshold_of(wrong, logits), logits, items);
  EXPECT_TRUE(simulated::holds(got, right.oracle.softmax(1), right.bound(1)));
  EXPECT_TRUE(simulated::exceeds(got, right.oracle.softmax(1), left.bound(1)));
}

// A coefficient that may be flushed is no larger than any other; one that may not be is.
TEST(RoundingTopk, OnlyACoefficientThatMayBeLostIsExchangedWithAnything) {
  const PrecisionScope scope(113);
  const std::vector<double> logits{0, -50, -86, -95, -120};
  const TopkThreshold<UpperBound> threshold =
      threshold_of(parse_contract("subnormal=flushed", Format::f32, Format::f32), logits);
  const auto exchange = [&](double d) { return upper(threshold.exchange(UpperBound(d), UpperBound(d))); };
  EXPECT_LT(exchange(50), 1e-4);
  EXPECT_TRUE(std::isinf(exchange(95)));
  EXPECT_TRUE(std::isinf(exchange(120)));
}

}  // namespace
}  // namespace softcheck::numerics
