// Compiled alone: what it simulates bears the names that other tests of bounds have.
// B19 against simulated kernels that compare masses and levels in every granted way, with wrong versions of it.

#include "numerics/rounding/rounding_top_p.hpp"

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

using SampledItems = std::vector<std::size_t>;

SampledItems descending(std::span<const double> values) {
  SampledItems order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  return order;
}

TopPThreshold<UpperBound> threshold_of(const Contract& contract, std::span<const double> logits, double theta = 1) {
  const RowOracle oracle(logits, theta);
  return {contract, row_statistics<UpperBound>(oracle, rescaling_count(contract, logits), theta)};
}

// How a kernel comes to the mass of a prefix.
enum class Mass { before, less_own, rest };

// The masses of the items before each one in the order, as such a kernel has them; the last is that of all.
std::vector<double> masses(const Arithmetic& a, std::span<const double> p, const SampledItems& order, Mass mass) {
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

struct Shares {
  double mass = 0, level = 0, weight = 0;
};

double share_of(const Enclosure& error, double bound) {
  return bound > 0 && std::isfinite(bound) ? std::max(0.0, (error / Enclosure(bound)).lower_double()) : 0;
}

// A top_p of exactly the computed mass is reached: the exact mass may be off by the bound.
void check_masses(const TopPThreshold<UpperBound>& threshold, const RowOracle& oracle, const Arithmetic& arithmetic,
                  std::span<const double> p, const SampledItems& order, Shares& shares) {
  for (const Mass mass : {Mass::before, Mass::less_own, Mass::rest}) {
    const std::vector<double> computed = masses(arithmetic, p, order, mass);
    Enclosure exact(0);
    for (std::size_t k = 0; k < order.size() && oracle.is_visible(order[k]); ++k) {
      const Enclosure own = oracle.softmax(order[k]);
      const double bound = upper(threshold.mass(bound_of<UpperBound>(own)));
      const Enclosure error = abs(Enclosure(computed[k]) - exact);
      ASSERT_TRUE(simulated::holds(error, bound)) << "item " << k << " of " << order.size();
      shares.mass = std::max(shares.mass, share_of(error, bound));
      exact += own;
    }
  }
}

// min_p is the ratio of two computed coefficients: an item is kept that is below it, or not though it is above.
void check_levels(const TopPThreshold<UpperBound>& threshold, const RowOracle& oracle, const Arithmetic& arithmetic,
                  std::span<const double> p, const SampledItems& order, Shares& shares) {
  for (const std::size_t i : order) {
    if (!oracle.is_visible(i) || !(p[i] > 0)) continue;
    for (const double factor : {1.0, 1 + 0x1p-30, 1 - 0x1p-30}) {
      const double min_p = std::min(1.0, p[i] / p[order[0]] * factor);
      const double least = arithmetic.multiply(arithmetic.round(min_p), p[order[0]]);
      const Enclosure level = -log(Enclosure(min_p)), deviation = oracle.deviation(i);
      const bool kept = p[i] >= least;
      const Enclosure off = kept ? deviation - level : level - deviation;
      const UpperBound own = bound_of<UpperBound>(deviation), of_level = bound_of<UpperBound>(abs(level));
      const double bound = upper(threshold.level(own, of_level, own.value() < of_level.value() ? own : of_level));
      ASSERT_TRUE(simulated::holds(off, bound)) << min_p;
      shares.level = std::max(shares.level, share_of(off, bound));
    }
  }
}

// The weights of a prefix of the order, divided by their sum.
void check_weights(const TopPThreshold<UpperBound>& threshold, std::span<const double> logits, const Plan& plan,
                   const Arithmetic& arithmetic, std::span<const double> p, const SampledItems& order,
                   std::size_t count, Shares& shares) {
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
    ASSERT_TRUE(simulated::holds(got, exact, bound)) << got << " count=" << count;
    shares.weight = std::max(shares.weight, simulated::used(got, exact, bound));
  }
}

void check_kernel(const Contract& contract, std::span<const double> logits, Errors errors, const Plan& plan,
                  Shares& shares) {
  const TopPThreshold<UpperBound> threshold = threshold_of(contract, logits, plan.theta);
  if (!(upper(threshold.mass(UpperBound(1))) < 1)) return;  // nothing is said of such a row
  const RowOracle oracle(logits, plan.theta);
  const Arithmetic arithmetic(contract, errors);
  const std::vector<double> p = Kernel(contract, errors, plan)(logits).coefficients;
  const SampledItems order = descending(p);
  check_masses(threshold, oracle, arithmetic, p, order, shares);
  check_levels(threshold, oracle, arithmetic, p, order, shares);
  for (const std::size_t count : {std::size_t{1}, (logits.size() + 1) / 2, logits.size()}) {
    check_weights(threshold, logits, plan, arithmetic, p, order, count, shares);
  }
}

std::vector<std::vector<double>> sampled_rows(Format format, std::size_t n) {
  std::vector<std::vector<double>> rows;
  for (tests::NamedRow& row : tests::row_families(n, 11)) {
    for (double& x : row.logits) {
      if (std::isfinite(x)) x = round_to(format, std::clamp(x, -1e4, 1e4));
    }
    rows.push_back(std::move(row.logits));
  }
  return rows;
}

TEST(RoundingTopP, KernelsThatCompareWhatTheyComputedKeepTheBounds) {
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
                        Case{"acc=f16 exp=1ulp sum=tree", Format::f16, Format::f16}}) {
    Shares shares;
    const Contract contract = parse_contract(c.words, c.input, c.output);
    for (const std::size_t n : {1, 2, 3, 8, 40}) {
      for (const std::vector<double>& logits : sampled_rows(c.input, n)) {
        for (const Errors errors : {Errors::nearest, Errors::up, Errors::down, Errors::random, Errors::up_below_one}) {
          for (const double theta : {1.0, 0.75}) {
            for (const bool other : {false, true}) {
              const Plan plan{.online = other, .recompute = other, .reciprocal = other, .theta = theta};
              check_kernel(contract, logits, errors, plan, shares);
              if (HasFatalFailure()) return;
            }
          }
        }
      }
    }
    std::cout << c.words << ": largest error/bound B19 mass " << shares.mass << ", level " << shares.level
              << ", weight " << shares.weight << '\n';
    EXPECT_GT(std::max({shares.mass, shares.level, shares.weight}), 0.3);
  }
}

// The largest share of a mass before an item, of kernels whose numerators err against their sum.
double mass_share(const Contract& contract, const Contract& granted, std::span<const double> logits, Errors sum,
                  Errors numerators, bool recompute) {
  const TopPThreshold<UpperBound> threshold = threshold_of(granted, logits);
  const Plan plan{.recompute = recompute, .numerators = numerators};
  const std::vector<double> p = Kernel(contract, sum, plan)(logits).coefficients;
  const RowOracle oracle(logits);
  const SampledItems order = descending(p);
  const std::vector<double> computed = masses(Arithmetic(contract, Errors::nearest), p, order, Mass::before);
  Enclosure exact(0);
  double share = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const Enclosure own = oracle.softmax(order[k]);
    share = std::max(share,
                     share_of(abs(Enclosure(computed[k]) - exact), upper(threshold.mass(bound_of<UpperBound>(own)))));
    exact += own;
  }
  return share;
}

TEST(RoundingTopP, NumeratorsThatErrAgainstTheirSumReachTheMass) {
  const PrecisionScope scope(113);
  const auto contract = [](const char* words) { return parse_contract(words, Format::f32, Format::f32); };
  const Contract right = contract("exp=E:50,A:1 subnormal=kept sum=tree");
  const std::vector<double> logits(64, 0);
  const double share = mass_share(right, right, logits, Errors::down, Errors::up, true);
  // Without a part of the exponentials' errors.
  const double wrong =
      mass_share(right, contract("exp=E:35,A:1 subnormal=kept sum=tree"), logits, Errors::down, Errors::up, true);
  std::cout << "numerators against their sum: mass " << share << ", planted " << wrong << '\n';
  EXPECT_LE(share, 1);
  EXPECT_GT(share, 0.7);
  EXPECT_GT(wrong, 1);
}

// SampledItems a little above half of the last place of the first one: every addition of the sum rounds up, none of the
// prefix.
TEST(RoundingTopP, ASumOfHalfUlpsReachesTheMass) {
  const PrecisionScope scope(113);
  const auto contract = [](const char* words) { return parse_contract(words, Format::f32, Format::f32); };
  const Contract right = contract("exp=0.5ulp subnormal=kept sum=sequential");
  std::vector<double> logits(4096, static_cast<float>(-24 * std::log(2.0) + 0x1p-13));
  logits.front() = 0;
  const double share = mass_share(right, right, logits, Errors::nearest, Errors::nearest, false);
  // The height of another order.
  const double wrong = mass_share(right, contract("exp=0.5ulp subnormal=kept sum=tree"), logits, Errors::nearest,
                                  Errors::nearest, false);
  std::cout << "half ulps: mass " << share << ", planted " << wrong << '\n';
  EXPECT_LE(share, 1);
  EXPECT_GT(share, 0.45);
  EXPECT_GT(wrong, 1);
}

// Two exponentials err apart: the smaller item is kept though it is below min_p of the larger one.
TEST(RoundingTopP, ExponentialsThatErrApartReachTheLevel) {
  const PrecisionScope scope(113);
  for (const bool long_argument : {false, true}) {
    const char* words = long_argument ? "exp=E:1,A:50 subnormal=kept" : "exp=E:50,A:1 subnormal=kept";
    const Contract right = parse_contract(words, Format::f32, Format::f32);
    const Contract wrong = parse_contract(long_argument ? "exp=E:1,A:1 subnormal=kept" : "exp=E:25,A:1 subnormal=kept",
                                          Format::f32, Format::f32);
    const double low = long_argument ? -32 : -0.125;  // short: min_p's logarithm errs by less
    const std::vector<double> logits{0, low, 0};      // no maximum rises from either end
    Arithmetic up(right, Errors::up), down(right, Errors::down);
    const double smaller = up.exponential(low), larger = down.exponential(0);
    const double min_p = smaller / larger;  // it is kept
    const Enclosure off = Enclosure(-low) + log(Enclosure(min_p));
    const UpperBound own(-low), level = bound_of<UpperBound>(-log(Enclosure(min_p)));
    const double share = share_of(off, upper(threshold_of(right, logits).level(own, level, level)));
    const double planted = share_of(off, upper(threshold_of(wrong, logits).level(own, level, level)));
    std::cout << words << ": level " << share << ", planted " << planted << '\n';
    EXPECT_LE(share, 1);
    EXPECT_GT(share, 0.5);
    EXPECT_GT(planted, 1);
  }
}

// A coefficient that may be flushed may be taken for less than min_p of any other.
TEST(RoundingTopP, OnlyACoefficientThatMayBeLostMissesEveryLevel) {
  const PrecisionScope scope(113);
  const std::vector<double> logits{0, -50, -86, -95, -120};
  const TopPThreshold<UpperBound> threshold =
      threshold_of(parse_contract("subnormal=flushed", Format::f32, Format::f32), logits);
  const auto level = [&](double d) { return upper(threshold.level(UpperBound(d), UpperBound(120), UpperBound(d))); };
  EXPECT_LT(level(50), 1e-4);
  EXPECT_TRUE(std::isinf(level(95)));
  EXPECT_TRUE(std::isinf(level(120)));
}

// A mass of many items counts what each of them may lose.
TEST(RoundingTopP, ABoundWithoutWhatItemsLoseIsRejected) {
  const PrecisionScope scope(113);
  const Contract contract = parse_contract("acc=f32 exp=1ulp sum=tree", Format::f32, Format::f16);
  std::vector<double> logits(40000, -17.375);  // coefficients below half of the smallest number of f16
  logits[0] = 0;
  const TopPThreshold<UpperBound> threshold = threshold_of(contract, logits);
  const std::vector<double> p = Kernel(contract, Errors::nearest, {})(logits).coefficients;
  const double computed = std::accumulate(p.begin() + 1, p.end(), 0.0);
  const Enclosure exact = RowOracle(logits).softmax(1) * Enclosure(39999);
  EXPECT_TRUE(simulated::holds(computed, exact, upper(threshold.mass(UpperBound(0)))));
  // The same without what underflows: f32's exponents, f16's rounding of each exponential.
  const Contract wide = parse_contract("acc=f32 exp=E:8192,A:1 sum=tree", Format::f32, Format::f32);
  const double roundings = upper(threshold_of(wide, std::vector<double>(2, 0)).mass(UpperBound(0)));
  EXPECT_GT(roundings, 2 * properties(Format::f16).unit_roundoff);
  EXPECT_TRUE(simulated::exceeds(computed, exact, roundings));
}

// The additions of what is kept, by the tree of the contract and a scan down it: every one rounds up until the sum
// is 1.
TEST(RoundingTopP, AKeptSumOfHalfUlpsReachesTheWeights) {
  const PrecisionScope scope(113);
  const Contract contract = parse_contract("exp=0.5ulp subnormal=kept sum=sequential", Format::f32, Format::f32);
  std::vector<double> logits(2049, static_cast<float>(-25 * std::log(2.0) + 0x1p-7));
  logits.front() = 0;
  std::vector<double> kept(logits.begin(), logits.begin() + 1000);
  const TopPThreshold<UpperBound> threshold = threshold_of(contract, logits);
  const std::vector<double> p = Kernel(contract, Errors::nearest, {})(logits).coefficients;
  const Arithmetic arithmetic(contract, Errors::nearest);
  double sum = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) sum = arithmetic.add(sum, p[i]);
  const double got = arithmetic.divide(p[0], sum);
  const RowOracle oracle(kept);
  const UpperBound none(0), mean = bound_of<UpperBound>(oracle.mean_deviation()),
                            over_mass = bound_of<UpperBound>(RowOracle(logits).sum() / oracle.sum());
  const UpperBound exact = bound_of<UpperBound>(oracle.softmax(0));
  const auto bound = [&](const TopPThreshold<UpperBound>& granted) {
    return upper(granted.kept(kept.size(), none, mean, over_mass).at(none, exact));
  };
  EXPECT_TRUE(simulated::holds(got, oracle.softmax(0), bound(threshold)));
  const double share = simulated::used(got, oracle.softmax(0), bound(threshold));
  std::cout << "half ulps: weight " << share << '\n';
  EXPECT_GT(share, 0.45);
  const Contract tree = parse_contract("exp=0.5ulp subnormal=kept sum=tree", Format::f32, Format::f32);
  EXPECT_TRUE(simulated::exceeds(got, oracle.softmax(0), bound(threshold_of(tree, logits))));
}

// Equal logits, where the mass counts roundings alone: of S its height and an exponential, of a coefficient another one
// and two of the quotient, of the prefix the height up and down, and two of what is compared.
TEST(RoundingTopP, TheMassStatedASecondTime) {
  const PrecisionScope scope(113);
  const std::vector<double> logits(1024, 3);
  for (const char* words : {"exp=E:1,A:1 subnormal=kept sum=tree", "exp=E:1,A:1 subnormal=kept sum=sequential"}) {
    const Contract contract = parse_contract(words, Format::f32, Format::f32);
    const double height = static_cast<double>(summation_height(contract, logits.size()));
    const double roundings = (height + 1) + (1 + 2) + std::min(2 * height, 1023.0) + 2;
    // (3) of docs/tolerances.md, of S and of the mass: t = 2^-24 / (1 - 2^-24), and no deviation.
    const double t = 0x1p-24 / (1 - 0x1p-24), tilt = t * std::log(1024 + std::exp(1.0)) / (1 - t);
    for (const double last : {0.0, 1.0}) {
      const double stated = std::expm1(-roundings * std::log1p(-0x1p-24) + tilt * tilt) * (1 + last);
      // Every operation of the bound rounds upward.
      EXPECT_NEAR(upper(threshold_of(contract, logits).mass(UpperBound(last))) / stated, 1, 0x1p-40) << words;
    }
  }
}

}  // namespace
}  // namespace softcheck::numerics
