// Sparsemax: two routes to the exact values, and B20 against simulated kernels, with wrong versions of it.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "numerics/oracles/exact_sum.hpp"
#include "numerics/oracles/projections.hpp"
#include "numerics/rounding/rounding_projections.hpp"
#include "proptests/tests/numerics/row_op_bounds.hpp"

namespace softcheck::numerics::sparsemax_test {
namespace {

using simulated::Arithmetic;
using simulated::Errors;
using simulated::Projected;
using Row = simulated::ProjectionRow;

std::vector<Row> rows_of(Format format, std::size_t n) {
  return simulated::projection_rows(format, n, {1, 0x1p-4, 0x1p-12});
}

TEST(Sparsemax, BothRoutesEncloseTheLargestCoefficient) {
  for (const unsigned bits : {64u, 113u, 256u}) {
    const PrecisionScope scope(bits);
    for (const std::size_t n : {1, 2, 3, 8, 40, 300}) {
      for (const Row& logits : rows_of(Format::f64, n)) {
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

TEST(Sparsemax, SumsThatTwoDoublesDoNotHoldAreEnclosed) {
  const PrecisionScope scope(256);
  ExactSum sum;
  for (const double x : {1.0, 0x1p-200}) sum.add(x);
  EXPECT_TRUE(sum.is_exact() && sum.value().overlaps(Enclosure(1) + Enclosure(0x1p-200)));
  sum.add(0x1p-100);
  EXPECT_FALSE(sum.is_exact());
  const Row logits{0, -0.1, -0x1p-200, -0.3, -0.75};  // 1 + 0.1 + 2^-200 takes 201 bits, and 0.75 has no part
  const SparsemaxOracle oracle(logits);
  EXPECT_TRUE(oracle.top().overlaps(sparsemax_top_by_elimination(logits)));
  EXPECT_LT(oracle.top().width(), 0x1p-240);
}

TEST(Sparsemax, KnownValuesAreTheirs) {
  const PrecisionScope scope(113);
  const Row pair{0.25, 0};
  EXPECT_TRUE(SparsemaxOracle(pair).value(0).contains(0.625));
  EXPECT_TRUE(SparsemaxOracle(pair).value(1).contains(0.375));
  const Row edge{1, 0};  // an item at the edge of the support has coefficient 0
  EXPECT_TRUE(SparsemaxOracle(edge).top().contains(1));
  EXPECT_TRUE(SparsemaxOracle(edge).value(1).contains(0));
  EXPECT_TRUE(SparsemaxOracle(Row(4, -3e300)).value(2).contains(0.25));
  EXPECT_EQ(SparsemaxOracle(Row{0, tests::masked}).value(1).upper_double(), 0);
  EXPECT_THROW(SparsemaxOracle(Row{tests::masked}), std::invalid_argument);
  EXPECT_THROW(SparsemaxOracle(Row{NAN}), std::invalid_argument);
}

Projected sparsemax(const Arithmetic& a, const Row& logits, bool quotient_form) {
  const Row z = simulated::less_the_maximum(a, logits), sorted = simulated::descending(z);
  double sum = 0, tau = 0;
  Projected result;
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
  Bound(const Contract& contract, const Row& logits, std::size_t support)
      : oracle(logits),
        threshold(contract, {logits.size(), simulated::visible_items(logits), bound_of<UpperBound>(oracle.top()),
                             bound_of<UpperBound>(abs(Enclosure(oracle.maximum())))}) {
    const Row sorted = simulated::descending(logits);
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
void check_support(const Bound& bound, const Row& logits, std::size_t support) {
  const Row sorted = simulated::descending(logits);
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

const std::vector<simulated::BoundSetting> settings{
    {Format::f32, Format::f32, "acc=f32 sum=sequential", 0.4},
    {Format::f64, Format::f64, "acc=f64 sum=sequential", 0.4},
    {Format::bf16, Format::bf16, "acc=f32 sum=sequential", 0.9},
    {Format::f32, Format::bf16, "acc=bf16 sum=sequential", 0.05},
    {Format::f16, Format::f16, "acc=f16 sum=sequential subnormal=flushed", 0.19},
};

TEST(RoundingSparsemax, KernelsThatSortKeepTheBound) {
  const auto check = [](const Contract& contract, const Row& logits, simulated::BoundShares& shares) {
    for (const bool form : {false, true}) {
      const Projected got = sparsemax(Arithmetic(contract, Errors::nearest), logits, form);
      const Bound bound(contract, logits, got.support);
      check_support(bound, logits, got.support);
      simulated::judge_projection("B20", bound, logits, got, shares);
    }
  };
  simulated::expect_bounds(settings, {1, 2, 3, 8, 40}, rows_of, check);
}

// From 2^12 on the sum's last place is 2^-11: each item adds a little more than half of it, and the sum a whole one.
TEST(RoundingSparsemax, ASumThatRoundsOneWayReachesTheBound) {
  const PrecisionScope scope(113);
  const Contract contract = simulated::f32_contract("acc=f32 sum=sequential");
  const Row logits = simulated::peak_over(15999, 0.5 + 0x1.02p-12);
  const Projected got = sparsemax(Arithmetic(contract, Errors::nearest), logits, false);
  const Bound bound(contract, logits, got.support);
  // The height of another order.
  const Bound tree(simulated::f32_contract("acc=f32 sum=tree"), logits, got.support);
  simulated::expect_needed("one way", got.values[0], bound.oracle.value(0), bound.at(0), tree.at(0), 0.2);
}

// Two largest logits and 5778 items 0.62 below them: the support is the two. The sum over all errs by more than 0.24,
// so that elimination finds no item beyond the quotient, while a kernel that sorts never comes to such a sum.
TEST(RoundingSparsemax, EliminationFromALongRowIsBeyondTheBound) {
  const PrecisionScope scope(113);
  const Contract contract = simulated::f32_contract("acc=f32 sum=sequential");
  const Arithmetic a(contract, Errors::nearest);
  Row logits(5780, a.round(-0.62));
  logits[0] = logits[1] = 0;
  Row left = logits;
  double tau = 0;
  for (std::size_t before = 0; before != left.size();) {
    before = left.size();
    double sum = 0;
    for (const double x : left) sum = a.add(sum, x);
    tau = a.divide(a.subtract(sum, 1), static_cast<double>(before));
    std::erase_if(left, [tau](double x) { return x <= tau; });
  }
  EXPECT_EQ(left.size(), logits.size());
  const Projected sorted = sparsemax(a, logits, false);
  ASSERT_EQ(sorted.support, 2u);
  const Bound bound(contract, logits, sorted.support);
  EXPECT_TRUE(simulated::holds(sorted.values[0], bound.oracle.value(0), bound.at(0)));
  EXPECT_TRUE(simulated::exceeds(-tau, bound.oracle.value(0), bound.at(0)));
}

TEST(RoundingSparsemax, ABoundWithoutTheConversionIsRejected) {
  simulated::expect_conversion_needed<Bound>(
      [](const Arithmetic& a, const Row& logits) { return sparsemax(a, logits, false); });
}

}  // namespace
}  // namespace softcheck::numerics::sparsemax_test
