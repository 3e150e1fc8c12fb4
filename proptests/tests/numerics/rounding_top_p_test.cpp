// B19 against simulated kernels that compare masses and levels in every granted way, with wrong versions of it.

#include "numerics/rounding/rounding_top_p.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "proptests/tests/numerics/row_op_bounds.hpp"

namespace softcheck::numerics::top_p_test {
namespace {

using simulated::Arithmetic;
using simulated::BoundShares;
using simulated::Errors;
using simulated::f32_contract;
using simulated::Items;
using simulated::Kernel;
using simulated::Plan;
using Threshold = TopPThreshold<UpperBound>;

constexpr auto threshold_of = simulated::selection_threshold<Threshold>;

// How a kernel comes to the mass of a prefix.
enum class Mass { before, less_own, rest };

// The masses of the items before each one in the order, as such a kernel has them; the last is that of all.
std::vector<double> masses(const Arithmetic& a, std::span<const double> p, const Items& order, Mass mass) {
  std::vector<double> result;
  if (mass == Mass::rest) {
    double rest = 0;
    for (std::size_t k = order.size(); k-- > 0;) {
      rest = a.add(rest, p[order[k]]);
      result.insert(result.begin(), 1 - rest);  // exact: what top_p has to be for it to be reached
    }
    return result;
  }
  double up_to = 0;
  for (const std::size_t i : order) {
    const double before = up_to;
    up_to = a.add(up_to, p[i]);
    result.push_back(mass == Mass::before ? before : a.subtract(up_to, p[i]));
  }
  return result;
}

// A top_p of exactly the computed mass is reached: the exact mass may be off by the bound.
void check_masses(const Threshold& threshold, const RowOracle& oracle, const Arithmetic& arithmetic,
                  std::span<const double> p, const Items& order, BoundShares& shares) {
  for (const Mass mass : {Mass::before, Mass::less_own, Mass::rest}) {
    const std::vector<double> computed = masses(arithmetic, p, order, mass);
    Enclosure exact(0);
    for (std::size_t k = 0; k < order.size() && oracle.is_visible(order[k]); ++k) {
      const Enclosure own = oracle.softmax(order[k]);
      shares.judge("mass", abs(Enclosure(computed[k]) - exact), upper(threshold.mass(bound_of<UpperBound>(own))));
      exact += own;
    }
  }
}

// min_p is the ratio of two computed coefficients: an item is kept that is below it, or not though it is above.
void check_levels(const Threshold& threshold, const RowOracle& oracle, const Arithmetic& arithmetic,
                  std::span<const double> p, const Items& order, BoundShares& shares) {
  for (const std::size_t i : order) {
    if (!oracle.is_visible(i) || !(p[i] > 0)) continue;
    for (const double factor : {1.0, 1 + 0x1p-30, 1 - 0x1p-30}) {
      const double min_p = std::min(1.0, p[i] / p[order[0]] * factor);
      const double least = arithmetic.multiply(arithmetic.round(min_p), p[order[0]]);
      const Enclosure level = -log(Enclosure(min_p)), deviation = oracle.deviation(i);
      const bool kept = p[i] >= least;
      const Enclosure off = kept ? deviation - level : level - deviation;
      const UpperBound own = bound_of<UpperBound>(deviation), of_level = bound_of<UpperBound>(abs(level));
      shares.judge("level", off, upper(threshold.level(own, of_level, minimum(own, of_level))));
    }
  }
}

// The weights of a prefix of the order, divided by their sum.
void check_weights(const Threshold& threshold, std::span<const double> logits, const Plan& plan,
                   const Arithmetic& arithmetic, std::span<const double> p, const Items& order, std::size_t count,
                   BoundShares& shares) {
  std::vector<double> kept(logits.size(), tests::masked);
  double sum = 0;
  for (std::size_t k = 0; k < count; ++k) {
    kept[order[k]] = logits[order[k]];
    sum = arithmetic.add(sum, p[order[k]]);
  }
  const RowOracle oracle(kept, plan.theta);
  if (oracle.fully_masked() || !(sum > 0)) return;
  const double maximum = *std::max_element(logits.begin(), logits.end());
  const Enclosure gap = (Enclosure(maximum) - Enclosure(oracle.maximum())) / Enclosure(plan.theta);
  const Enclosure over_mass = RowOracle(logits, plan.theta).sum() / oracle.sum() * exp(gap);
  const auto top = bound_of<UpperBound>(gap);
  const ElementThreshold<UpperBound> granted =
      threshold.kept(count, top, bound_of<UpperBound>(oracle.mean_deviation()), bound_of<UpperBound>(over_mass));
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t i = order[k];
    if (!oracle.is_visible(i)) continue;
    const double got = arithmetic.output(plan.reciprocal ? arithmetic.multiply(p[i], arithmetic.divide(1, sum))
                                                         : arithmetic.divide(p[i], sum));
    const Enclosure exact = oracle.softmax(i);
    const double bound = upper(granted.at(bound_of<UpperBound>(oracle.deviation(i)), bound_of<UpperBound>(exact)));
    shares.judge("weight", got, exact, bound);
  }
}

void check_kernel(const Contract& contract, std::span<const double> logits, Errors errors, const Plan& plan,
                  BoundShares& shares) {
  const Threshold threshold = threshold_of(contract, logits, plan.theta);
  if (!(upper(threshold.mass(UpperBound(1))) < 1)) return;  // nothing is said of such a row
  const RowOracle oracle(logits, plan.theta);
  const Arithmetic arithmetic(contract, errors);
  const std::vector<double> p = Kernel(contract, errors, plan)(logits).coefficients;
  const Items order = simulated::descending_items(p);
  check_masses(threshold, oracle, arithmetic, p, order, shares);
  check_levels(threshold, oracle, arithmetic, p, order, shares);
  for (const std::size_t count : {std::size_t{1}, (logits.size() + 1) / 2, logits.size()}) {
    check_weights(threshold, logits, plan, arithmetic, p, order, count, shares);
  }
}

// Labelled full: RoundingTopP.KernelsThatCompareWhatTheyComputedKeepTheBounds
TEST(RoundingTopP, KernelsThatCompareWhatTheyComputedKeepTheBounds) {
  const auto check = [](const Contract& contract, const tests::NamedRow& row, BoundShares& shares) {
    for (const double theta : {1.0, 0.75}) {
      SCOPED_TRACE(row.name + ", theta " + std::to_string(theta));
      simulated::for_each_selecting_kernel(
          theta, [&](Errors errors, const Plan& plan) { check_kernel(contract, row.logits, errors, plan, shares); });
    }
  };
  // In bf16 nothing is said of most rows.
  const auto settings = std::span(simulated::selection_settings).first(6);
  simulated::expect_bounds(settings, {1, 2, 3, 8, 40}, simulated::selection_rows, check);
}

// The largest share of a mass before an item, of kernels whose numerators err against their sum: within the bound, and
// beyond one of another contract.
void expect_mass_reached(const char* words, const char* wrong_words, std::span<const double> logits, Errors sum,
                         const Plan& plan, double least) {
  const PrecisionScope scope(113);
  const Contract contract = f32_contract(words);
  const std::vector<double> p = Kernel(contract, sum, plan)(logits).coefficients;
  const RowOracle oracle(logits);
  const Items order = simulated::descending_items(p);
  const std::vector<double> computed = masses(Arithmetic(contract, Errors::nearest), p, order, Mass::before);
  const auto shares_of = [&](const char* granted) {
    const Threshold threshold = threshold_of(f32_contract(granted), logits, 1);
    BoundShares shares;
    Enclosure exact(0);
    for (std::size_t k = 0; k < order.size(); ++k) {
      const Enclosure own = oracle.softmax(order[k]);
      const double bound = upper(threshold.mass(bound_of<UpperBound>(own)));
      shares.raise("mass", BoundShares::share_of(abs(Enclosure(computed[k]) - exact), bound));
      exact += own;
    }
    return shares;
  };
  shares_of(words).expect(words, least);
  shares_of(wrong_words).print("planted");
  EXPECT_GT(shares_of(wrong_words).largest(), 1);
}

TEST(RoundingTopP, NumeratorsThatErrAgainstTheirSumReachTheMass) {
  // Wrong: without a part of the exponentials' errors.
  expect_mass_reached("exp=E:50,A:1 subnormal=kept sum=tree", "exp=E:35,A:1 subnormal=kept sum=tree",
                      std::vector<double>(64, 0), Errors::down, {.recompute = true, .numerators = Errors::up}, 0.7);
}

// Items a little above half of the last place of the first one: every addition of the sum rounds up, none of the
// prefix.
TEST(RoundingTopP, ASumOfHalfUlpsReachesTheMass) {
  // Wrong: the height of another order.
  expect_mass_reached("exp=0.5ulp subnormal=kept sum=sequential", "exp=0.5ulp subnormal=kept sum=tree",
                      simulated::half_ulp_row(4095, 24, 0x1p-13), Errors::nearest, {}, 0.45);
}

// Two exponentials err apart: the smaller item is kept though it is below min_p of the larger one.
TEST(RoundingTopP, ExponentialsThatErrApartReachTheLevel) {
  const PrecisionScope scope(113);
  for (const bool long_argument : {false, true}) {
    const char* words = long_argument ? "exp=E:1,A:50 subnormal=kept" : "exp=E:50,A:1 subnormal=kept";
    const Contract right = f32_contract(words);
    const Contract wrong = f32_contract(long_argument ? "exp=E:1,A:1 subnormal=kept" : "exp=E:25,A:1 subnormal=kept");
    const double low = long_argument ? -32 : -0.125;  // short: min_p's logarithm errs by less
    const std::vector<double> logits{0, low, 0};      // no maximum rises from either end
    Arithmetic up(right, Errors::up), down(right, Errors::down);
    const double smaller = up.exponential(low), larger = down.exponential(0);
    const double min_p = smaller / larger;  // it is kept
    const Enclosure off = Enclosure(-low) + log(Enclosure(min_p));
    const UpperBound own(-low), level = bound_of<UpperBound>(-log(Enclosure(min_p)));
    BoundShares shares, planted;
    shares.judge("level", off, upper(threshold_of(right, logits, 1).level(own, level, level)));
    planted.raise("planted",
                  BoundShares::share_of(off, upper(threshold_of(wrong, logits, 1).level(own, level, level))));
    shares.expect(words, 0.5);
    planted.print(words);
    EXPECT_GT(planted.largest(), 1);
  }
}

// A coefficient that may be flushed may be taken for less than min_p of any other.
TEST(RoundingTopP, OnlyACoefficientThatMayBeLostMissesEveryLevel) {
  const PrecisionScope scope(113);
  const std::vector<double> logits{0, -50, -86, -95, -120};
  const Threshold threshold = threshold_of(f32_contract("subnormal=flushed"), logits, 1);
  const auto level = [&](double d) { return upper(threshold.level(UpperBound(d), UpperBound(120), UpperBound(d))); };
  EXPECT_LT(level(50), 1e-4);
  EXPECT_TRUE(std::isinf(level(95)));
  EXPECT_TRUE(std::isinf(level(120)));
}

// A mass of many items counts what each of them may lose.
TEST(RoundingTopP, ABoundWithoutWhatItemsLoseIsRejected) {
  const PrecisionScope scope(113);
  const Contract contract = parse_contract("acc=f32 exp=1ulp sum=tree", Format::f32, Format::f16);
  const auto logits = simulated::peak_over(39999, 17.375);  // coefficients below half of the smallest number of f16
  const Threshold threshold = threshold_of(contract, logits, 1);
  const std::vector<double> p = Kernel(contract, Errors::nearest, {})(logits).coefficients;
  const double computed = std::accumulate(p.begin() + 1, p.end(), 0.0);
  const Enclosure exact = RowOracle(logits).softmax(1) * Enclosure(39999);
  // The same without what underflows: f32's exponents, f16's rounding of each exponential.
  const Contract wide = f32_contract("acc=f32 exp=E:8192,A:1 sum=tree");
  const double roundings = upper(threshold_of(wide, std::vector<double>(2, 0), 1).mass(UpperBound(0)));
  EXPECT_GT(roundings, 2 * properties(Format::f16).unit_roundoff);
  simulated::expect_needed("mass", computed, exact, upper(threshold.mass(UpperBound(0))), roundings);
}

// The additions of what is kept, by the tree of the contract and a scan down it: every one rounds up until the sum
// is 1.
TEST(RoundingTopP, AKeptSumOfHalfUlpsReachesTheWeights) {
  const PrecisionScope scope(113);
  const Contract contract = f32_contract("exp=0.5ulp subnormal=kept sum=sequential");
  const std::vector<double> logits = simulated::half_ulp_row(2048, 25, 0x1p-7);
  std::vector<double> kept(logits.begin(), logits.begin() + 1000);
  const std::vector<double> p = Kernel(contract, Errors::nearest, {})(logits).coefficients;
  const Arithmetic arithmetic(contract, Errors::nearest);
  double sum = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) sum = arithmetic.add(sum, p[i]);
  const double got = arithmetic.divide(p[0], sum);
  const RowOracle oracle(kept);
  const UpperBound none(0), mean = bound_of<UpperBound>(oracle.mean_deviation()),
                            over_mass = bound_of<UpperBound>(RowOracle(logits).sum() / oracle.sum());
  const UpperBound exact = bound_of<UpperBound>(oracle.softmax(0));
  const auto bound = [&](const char* words) {
    const Threshold granted = threshold_of(f32_contract(words), logits, 1);
    return upper(granted.kept(kept.size(), none, mean, over_mass).at(none, exact));
  };
  simulated::expect_needed("weight", got, oracle.softmax(0), bound("exp=0.5ulp subnormal=kept sum=sequential"),
                           bound("exp=0.5ulp subnormal=kept sum=tree"), 0.45);
}

// Equal logits, where the mass counts roundings alone: of S its height and an exponential, of a coefficient another one
// and two of the quotient, of the prefix the height up and down, and two of what is compared.
TEST(RoundingTopP, TheMassStatedASecondTime) {
  const PrecisionScope scope(113);
  const std::vector<double> logits(1024, 3);
  for (const char* words : {"exp=E:1,A:1 subnormal=kept sum=tree", "exp=E:1,A:1 subnormal=kept sum=sequential"}) {
    const Contract contract = f32_contract(words);
    const double height = static_cast<double>(summation_height(contract, logits.size()));
    const double roundings = (height + 1) + (1 + 2) + std::min(2 * height, 1023.0) + 2;
    // (3) of docs/tolerances.md, of S and of the mass: t = 2^-24 / (1 - 2^-24), and no deviation.
    const double t = 0x1p-24 / (1 - 0x1p-24), tilt = t * std::log(1024 + std::exp(1.0)) / (1 - t);
    for (const double last : {0.0, 1.0}) {
      const double stated = std::expm1(-roundings * std::log1p(-0x1p-24) + tilt * tilt) * (1 + last);
      // Every operation of the bound rounds upward.
      EXPECT_NEAR(upper(threshold_of(contract, logits, 1).mass(UpperBound(last))) / stated, 1, 0x1p-40) << words;
    }
  }
}

}  // namespace
}  // namespace softcheck::numerics::top_p_test
