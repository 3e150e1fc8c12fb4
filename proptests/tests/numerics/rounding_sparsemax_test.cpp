// Sparsemax: two routes to the exact values, and B20 against simulated kernels, with wrong versions of it.

#include "numerics/rounding/rounding_sparsemax.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iostream>
#include <numeric>
#include <vector>

#include "numerics/oracles/sparsemax.hpp"
#include "proptests/tests/numerics/bound_ratio.hpp"
#include "proptests/tests/numerics/row_families.hpp"

namespace softcheck::numerics {
namespace {

using simulated::Arithmetic;
using simulated::Errors;

using SparsemaxRow = std::vector<double>;

// Rows of one length of which some share the support, some do not.
std::vector<SparsemaxRow> rows_of(Format format, std::size_t n) {
  std::vector<SparsemaxRow> rows;
  for (const tests::NamedRow& row : tests::row_families(n, 5)) {
    for (const double scale : {1.0, 0x1p-4, 0x1p-12}) {
      SparsemaxRow logits;
      for (const double x : row.logits) {
        logits.push_back(std::isfinite(x) ? round_to(format, std::clamp(x, -1e4, 1e4) * scale) : x);
      }
      rows.push_back(std::move(logits));
    }
  }
  return rows;
}

TEST(Sparsemax, BothRoutesEncloseTheLargestCoefficient) {
  for (const unsigned bits : {64u, 113u, 256u}) {
    const PrecisionScope scope(bits);
    for (const std::size_t n : {1, 2, 3, 8, 40, 300}) {
      for (const SparsemaxRow& logits : rows_of(Format::f64, n)) {
        const SparsemaxOracle oracle(logits);
        EXPECT_TRUE(oracle.top().overlaps(sparsemax_top_by_elimination(logits)));
        Enclosure sum(0);
        for (std::size_t i = 0; i < n; ++i) sum += oracle.value(i);
        EXPECT_TRUE(sum.contains(1)) << sum.to_string();
        EXPECT_LT(sum.width(), 0x1p-40);
      }
    }
  }
}

TEST(Sparsemax, KnownValuesAreTheirs) {
  const PrecisionScope scope(113);
  const SparsemaxRow pair{0.25, 0};
  EXPECT_TRUE(SparsemaxOracle(pair).value(0).contains(0.625));
  EXPECT_TRUE(SparsemaxOracle(pair).value(1).contains(0.375));
  const SparsemaxRow edge{1, 0};  // an item at the edge of the support has coefficient 0
  EXPECT_TRUE(SparsemaxOracle(edge).top().contains(1));
  EXPECT_TRUE(SparsemaxOracle(edge).value(1).contains(0));
  EXPECT_TRUE(SparsemaxOracle(SparsemaxRow(4, -3e300)).value(2).contains(0.25));
  EXPECT_EQ(SparsemaxOracle(SparsemaxRow{0, tests::masked}).value(1).upper_double(), 0);
  EXPECT_THROW(SparsemaxOracle(SparsemaxRow{tests::masked}), std::invalid_argument);
  EXPECT_THROW(SparsemaxOracle(SparsemaxRow{NAN}), std::invalid_argument);
}

// A kernel that sorts, adds one after the other and stops at the first item that fails.
struct Computed {
  SparsemaxRow values;
  std::size_t support = 0;
};

Computed simulated_sparsemax(const Arithmetic& a, const SparsemaxRow& logits, bool quotient_form) {
  double maximum = tests::masked;
  SparsemaxRow z = logits;
  for (double& x : z) x = std::isfinite(x) ? a.round(x) : x;
  for (const double x : z) maximum = std::max(maximum, x);
  for (double& x : z) x = std::isfinite(x) ? a.subtract(x, maximum) : x;
  SparsemaxRow sorted = z;
  std::ranges::sort(sorted, std::greater<>());
  double sum = 0, tau = 0;
  Computed result;
  for (std::size_t k = 0; k < sorted.size() && std::isfinite(sorted[k]); ++k) {
    const auto count = static_cast<double>(k + 1);
    sum = a.add(sum, sorted[k]);
    const double quotient = a.divide(a.subtract(sum, 1), count);
    const bool inside = quotient_form ? sorted[k] > quotient : a.add(1, a.multiply(a.round(count), sorted[k])) > sum;
    if (!inside) break;
    tau = quotient;
    result.support = k + 1;
  }
  for (const double x : z) {
    const double value = std::isfinite(x) ? a.subtract(x, tau) : 0;
    result.values.push_back(value > 0 ? a.output(value) : 0);
  }
  return result;
}

// The bound of a row whose support a kernel found exactly, or to which it belongs with what that moved.
struct Bound {
  Bound(const Contract& contract, const SparsemaxRow& logits, std::size_t support)
      : oracle(logits), threshold([&] {
          std::size_t visible = 0;
          for (const double x : logits) visible += std::isfinite(x) ? 1 : 0;
          const UpperBound size = bound_of<UpperBound>(abs(Enclosure(oracle.maximum())));
          return SparsemaxThreshold<UpperBound>(contract,
                                                {logits.size(), visible, bound_of<UpperBound>(oracle.top()), size});
        }()) {
    SparsemaxRow sorted = logits;
    std::ranges::sort(sorted, std::greater<>());
    Enclosure sum(0);
    for (std::size_t k = 0; k < support; ++k) sum += Enclosure(oracle.maximum()) - Enclosure(sorted[k]);
    const Enclosure count = Enclosure::integer(support);
    of.most = support;
    of.mean_deviation = bound_of<UpperBound>(sum / count);
    of.moved = bound_of<UpperBound>(maximum(Enclosure(0), (sum + 1) / count - oracle.top()));
  }
  double at(std::size_t i) const {
    return upper(threshold.element(bound_of<UpperBound>(oracle.deviation(i)),
                                   bound_of<UpperBound>(maximum(Enclosure(0), oracle.value(i))), of));
  }
  SparsemaxOracle oracle;
  SparsemaxThreshold<UpperBound> threshold;
  SparsemaxSupport<UpperBound> of;
};

// Is a support that a kernel came to one that the bound lets it?
void check_support(const Bound& bound, const SparsemaxRow& logits, std::size_t support) {
  SparsemaxRow sorted = logits;
  std::ranges::sort(sorted, std::greater<>());
  const Enclosure largest(bound.oracle.maximum());
  Enclosure sum(0);
  const auto off = [&](std::size_t count, const Enclosure& deviation) {
    return Enclosure(
        upper(bound.threshold.condition(count, bound_of<UpperBound>(deviation), bound_of<UpperBound>(sum))));
  };
  for (std::size_t k = 0; k < support; ++k) {
    const Enclosure deviation = largest - Enclosure(sorted[k]), count = Enclosure::integer(k + 1);
    sum += deviation;
    ASSERT_NE(less(sum + 1 + off(k + 1, deviation), count * deviation), Decision::proved) << k;
  }
  if (support == sorted.size() || !std::isfinite(sorted[support])) return;
  const Enclosure left_out = largest - Enclosure(sorted[support]), count = Enclosure::integer(support + 1);
  ASSERT_NE(less(left_out, bound.oracle.top() - Enclosure(upper(bound.threshold.inside()))), Decision::proved);
  sum += left_out;
  ASSERT_NE(less(count * left_out + off(support + 1, left_out), sum + 1), Decision::proved);
}

TEST(RoundingSparsemax, KernelsThatSortKeepTheBound) {
  const PrecisionScope scope(113);
  struct Case {
    const char* words;
    Format input, output;
    double share;
  };
  for (const Case& c : {Case{"acc=f32 sum=sequential", Format::f32, Format::f32, 0.4},
                        Case{"acc=f64 sum=sequential", Format::f64, Format::f64, 0.4},
                        Case{"acc=f32 sum=sequential", Format::bf16, Format::bf16, 0.9},
                        Case{"acc=bf16 sum=sequential", Format::f32, Format::bf16, 0.05},
                        Case{"acc=f16 sum=sequential subnormal=flushed", Format::f16, Format::f16, 0.19}}) {
    const Contract contract = parse_contract(c.words, c.input, c.output);
    const Arithmetic arithmetic(contract, Errors::nearest);
    double share = 0;
    for (const std::size_t n : {1, 2, 3, 8, 40}) {
      for (const SparsemaxRow& logits : rows_of(c.input, n)) {
        for (const bool form : {false, true}) {
          const Computed got = simulated_sparsemax(arithmetic, logits, form);
          const Bound bound(contract, logits, got.support);
          check_support(bound, logits, got.support);
          if (HasFatalFailure()) return;
          for (std::size_t i = 0; i < n; ++i) {
            if (!std::isfinite(logits[i])) continue;
            const Enclosure exact = bound.oracle.value(i);
            ASSERT_TRUE(simulated::holds(got.values[i], exact, bound.at(i)))
                << c.words << " " << n << " " << got.values[i] << " " << exact.to_string() << " " << bound.at(i);
            share = std::max(share, simulated::used(got.values[i], exact, bound.at(i)));
          }
        }
      }
    }
    std::cout << c.words << ": largest error/bound B20 " << share << '\n';
    EXPECT_GT(share, c.share);
  }
}

// From 2^12 on the sum's last place is 2^-11: each item adds a little more than half of it, and the sum a whole one.
TEST(RoundingSparsemax, ASumThatRoundsOneWayReachesTheBound) {
  const PrecisionScope scope(113);
  const Contract contract = parse_contract("acc=f32 sum=sequential", Format::f32, Format::f32);
  SparsemaxRow logits(16000, -0.5 - 0x1.02p-12);
  logits[0] = 0;
  const Computed got = simulated_sparsemax(Arithmetic(contract, Errors::nearest), logits, false);
  const Bound bound(contract, logits, got.support);
  const double share = simulated::used(got.values[0], bound.oracle.value(0), bound.at(0));
  EXPECT_TRUE(simulated::holds(got.values[0], bound.oracle.value(0), bound.at(0)));
  std::cout << "one way: " << share << " of " << got.support << '\n';
  EXPECT_GT(share, 0.2);
  // The height of another order.
  const Bound tree(parse_contract("acc=f32 sum=tree", Format::f32, Format::f32), logits, got.support);
  EXPECT_TRUE(simulated::exceeds(got.values[0], tree.oracle.value(0), tree.at(0)));
}

// Two largest logits and 5778 items 0.62 below them: the support is the two. The sum over all errs by more than 0.24,
// so that elimination finds no item beyond the quotient, while a kernel that sorts never comes to such a sum.
TEST(RoundingSparsemax, EliminationFromALongRowIsBeyondTheBound) {
  const PrecisionScope scope(113);
  const Contract contract = parse_contract("acc=f32 sum=sequential", Format::f32, Format::f32);
  const Arithmetic a(contract, Errors::nearest);
  SparsemaxRow logits(5780, a.round(-0.62));
  logits[0] = logits[1] = 0;
  SparsemaxRow left = logits;
  double tau = 0;
  for (std::size_t before = 0; before != left.size();) {
    before = left.size();
    double sum = 0;
    for (const double x : left) sum = a.add(sum, x);
    tau = a.divide(a.subtract(sum, 1), static_cast<double>(before));
    std::erase_if(left, [tau](double x) { return x <= tau; });
  }
  EXPECT_EQ(left.size(), logits.size());
  const Computed sorted = simulated_sparsemax(a, logits, false);
  ASSERT_EQ(sorted.support, 2u);
  const Bound bound(contract, logits, sorted.support);
  EXPECT_TRUE(simulated::holds(sorted.values[0], bound.oracle.value(0), bound.at(0)));
  EXPECT_TRUE(simulated::exceeds(-tau, bound.oracle.value(0), bound.at(0)));
}

// Logits that the accumulator cannot hold: each is rounded on its way in.
TEST(RoundingSparsemax, ABoundWithoutTheConversionIsRejected) {
  const PrecisionScope scope(113);
  const SparsemaxRow logits{1000.25, 1000, 999.875};
  const Contract contract = parse_contract("acc=bf16 sum=sequential", Format::f32, Format::bf16);
  const Contract held = parse_contract("acc=bf16 sum=sequential", Format::bf16, Format::bf16);
  const Computed got = simulated_sparsemax(Arithmetic(contract, Errors::nearest), logits, false);
  const Bound right(contract, logits, got.support), wrong(held, logits, got.support);
  double worst = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    EXPECT_TRUE(simulated::holds(got.values[i], right.oracle.value(i), right.at(i)));
    worst = std::max(worst, simulated::used(got.values[i], wrong.oracle.value(i), wrong.at(i)));
  }
  EXPECT_GT(worst, 1);
}

}  // namespace
}  // namespace softcheck::numerics
