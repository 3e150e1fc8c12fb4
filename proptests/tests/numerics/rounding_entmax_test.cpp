// Squared projections (B21): two routes to the exact values, and B21 against simulated kernels, with wrong versions of
// it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "numerics/oracles/projections.hpp"
#include "numerics/rounding/rounding_projections.hpp"
#include "proptests/tests/numerics/row_op_bounds.hpp"

namespace softcheck::numerics::root_projection_test {
namespace {

using simulated::Arithmetic;
using simulated::Errors;

using Row = simulated::ProjectionRow;
using simulated::Projected;

std::vector<Row> rows_of(Format format, std::size_t n) {
  return simulated::projection_rows(format, n, {1, 0x1p-3, 0x1p-11});
}

TEST(RootProjection, BothRoutesEncloseTheLargestRoot) {
  for (const unsigned bits : {64u, 113u}) {
    const PrecisionScope scope(bits);
    for (const std::size_t n : {1, 2, 3, 8, 40}) {
      for (const Row& logits : rows_of(Format::f64, n)) {
        const RootProjectionOracle oracle(logits);
        const Enclosure other = root_projection_top_by_bisection(logits);
        EXPECT_TRUE(oracle.top().overlaps(other)) << oracle.top() << " " << other;
        EXPECT_LT(oracle.top().width(), 0x1p-40);
        EXPECT_LT(other.width(), 0x1p-40);
        Enclosure sum(0);
        for (std::size_t i = 0; i < n; ++i) sum += oracle.value(i);
        EXPECT_TRUE(sum.contains(1)) << sum;
      }
    }
  }
}

TEST(RootProjection, KnownValuesAreTheirs) {
  const PrecisionScope scope(113);
  // t = 4/5 and t - 1/5 = 3/5.
  const Row pair{0.4, 0};
  EXPECT_LT(abs(RootProjectionOracle(pair).value(0) - Enclosure(16) / 25).upper_double(), 1e-16);
  EXPECT_LT(abs(RootProjectionOracle(pair).value(1) - Enclosure(9) / 25).upper_double(), 1e-16);
  const Row edge{2, 0};  // an item at the edge of the support has coefficient 0
  EXPECT_TRUE(RootProjectionOracle(edge).top().contains(1));
  EXPECT_TRUE(RootProjectionOracle(edge).value(1).contains(0));
  // The quadratic of all three has the root 0.704.
  EXPECT_TRUE(RootProjectionOracle(Row{0, 0, -1.6}).value(0).contains(0.5));
  EXPECT_LT(RootProjectionOracle(Row{0, 0, -1.6}).value(0).width(), 1e-20);
  EXPECT_TRUE(RootProjectionOracle(Row{2.4, 0}).top().contains(1));
  EXPECT_TRUE(RootProjectionOracle(Row(4, -3e300)).value(2).contains(0.25));
  EXPECT_EQ(RootProjectionOracle(Row{0, tests::masked}).value(1).upper_double(), 0);
  EXPECT_THROW(RootProjectionOracle(Row{tests::masked}), std::invalid_argument);
  EXPECT_THROW(RootProjectionOracle(Row{NAN}), std::invalid_argument);
}

// Both bounds of a square root: the slope at an exact radicand, the root of the error beside 0.
TEST(RootProjection, ASquareRootIsRoundedUpward) {
  for (const double x : {0.0, 0x1p-1074, 0.25, 2.0, 1e300}) {
    const PrecisionScope scope(256);
    EXPECT_GE(square(Enclosure(sqrt(UpperBound(x)).value())).lower_double(), x);
    EXPECT_LE(sqrt(UpperBound(x)).value(), std::sqrt(x) * (1 + 0x1p-51));
  }
  EXPECT_EQ(minimum(UpperBound(2), UpperBound::infinity()).value(), 2);
}

// How a kernel makes a root of sums.
enum class Form { variance, quadratic };

double computed_root(const Arithmetic& a, Form form, double sum, double squares, double k) {
  const double count = a.round(k);
  if (form == Form::quadratic) {
    const double radicand = a.subtract(a.multiply(sum, sum), a.multiply(count, a.subtract(squares, 1)));
    return a.multiply(a.add(sum, a.round(std::sqrt(std::max(radicand, 0.0)))), a.divide(1, count));
  }
  const double mean = a.divide(sum, count);
  const double variance = a.subtract(a.divide(squares, count), a.multiply(mean, mean));
  const double radicand = a.divide(a.subtract(1, a.multiply(count, variance)), count);
  return a.add(mean, a.round(std::sqrt(std::max(radicand, 0.0))));
}

Projected root_projection(const Arithmetic& a, const Row& logits, Form form) {
  Row d = simulated::less_the_maximum(a, logits);
  for (double& x : d) x = std::isfinite(x) ? a.multiply(-x, 0.5) : -x;
  Row sorted = d;
  std::ranges::sort(sorted);
  double sum = 0, squares = 0, top = 0;
  Projected result;
  for (std::size_t k = 0; k < sorted.size() && std::isfinite(sorted[k]); ++k) {
    sum = a.add(sum, sorted[k]);
    squares = a.add(squares, a.multiply(sorted[k], sorted[k]));
    const double root = computed_root(a, form, sum, squares, static_cast<double>(k + 1));
    if (!(sorted[k] <= root)) break;  // squares of items far beyond the support may overflow
    top = root;
    result.support = k + 1;
  }
  for (const double x : d) {
    const double rest = std::isfinite(x) ? std::max(a.subtract(top, x), 0.0) : 0;
    result.values.push_back(a.output(a.multiply(rest, rest)));
  }
  return result;
}

// The prefix that a kernel ended with, exactly, and what it makes of the row's coefficients.
struct Bound {
  Bound(const Contract& contract, const Row& logits, std::size_t support)
      : oracle(logits),
        threshold(contract, logits.size(), simulated::visible_items(logits),
                  bound_of<UpperBound>(abs(Enclosure(oracle.maximum())))) {
    const Row sorted = simulated::descending(logits);
    Enclosure sum(0), squares(0);
    for (std::size_t k = 0; k < support; ++k) {
      const Enclosure d = (Enclosure(oracle.maximum()) - Enclosure(sorted[k])) / 2;
      sum += d;
      squares += square(d);
    }
    const Enclosure count = Enclosure::integer(support), mean = sum / count, square_mean = squares / count;
    const Enclosure variance = square_mean - square(mean), spread = sqrt(maximum(Enclosure(0), 1 / count - variance));
    const bool none = !spread.certainly_positive();
    prefix = {support,
              bound_of<UpperBound>(mean),
              bound_of<UpperBound>(square_mean),
              bound_of<UpperBound>(1 / count + variance),
              bound_of<UpperBound>(spread),
              none ? UpperBound::infinity() : bound_of<UpperBound>(1 / spread),
              bound_of<UpperBound>(mean + spread)};
    own = threshold.root(prefix);
    top = own + bound_of<UpperBound>(abs(mean + spread - oracle.top()));
  }
  double at(std::size_t i) const {
    const UpperBound d = bound_of<UpperBound>(oracle.half_deviation(i));
    const Enclosure rest = oracle.top() - oracle.half_deviation(i);
    const UpperBound root = bound_of<UpperBound>(maximum(Enclosure(0), rest));
    return upper(threshold.coefficient(root, threshold.difference(d, root, top)));
  }
  RootProjectionOracle oracle;
  RootProjectionThreshold<UpperBound> threshold;
  RootPrefix<UpperBound> prefix;
  UpperBound own, top;
};

// Ends a support where the bound lets it? Neither is its last item beyond the root of its prefix by more than the
// error, nor is the next one within its own by more.
void check_support(const Contract& contract, const Row& logits, std::size_t support) {
  const Row sorted = simulated::descending(logits);
  for (const std::size_t k : {support, support + 1}) {
    if (k > sorted.size() || !std::isfinite(sorted[k - 1])) continue;
    const Bound bound(contract, logits, k);
    const Enclosure d = (Enclosure(bound.oracle.maximum()) - Enclosure(sorted[k - 1])) / 2;
    const UpperBound error = bound.own + bound.threshold.half_deviation(bound_of<UpperBound>(d));
    const Enclosure root(bound.prefix.root.value()), off(upper(error) * (1 + 0x1p-20));
    if (k == support) {
      ASSERT_NE(less(root + off, d), Decision::proved) << k;
    } else {
      ASSERT_NE(less(d, root - off), Decision::proved) << k;
    }
  }
}

const std::vector<simulated::BoundSetting> settings{
    {Format::f32, Format::f32, "acc=f32 sum=sequential", 0.19},
    {Format::f64, Format::f64, "acc=f64 sum=sequential", 0.17},
    {Format::bf16, Format::bf16, "acc=f32 sum=sequential", 0.9},
    {Format::f32, Format::bf16, "acc=bf16 sum=sequential", 0.05},
    {Format::f16, Format::f16, "acc=f16 sum=sequential subnormal=flushed", 0.1},
};

TEST(RoundingRootProjection, KernelsThatSortKeepTheBound) {
  const auto check = [](const Contract& contract, const Row& logits, simulated::BoundShares& shares) {
    for (const Form form : {Form::variance, Form::quadratic}) {
      const Projected got = root_projection(Arithmetic(contract, Errors::nearest), logits, form);
      check_support(contract, logits, got.support);
      simulated::judge_projection("B21", Bound(contract, logits, got.support), logits, got, shares);
    }
  };
  simulated::expect_bounds(settings, {1, 2, 3, 8, 40}, rows_of, check);
}

// Many items just inside the support of a single largest one: means of d and of its square cancel down to 1 / k^2.
TEST(RoundingRootProjection, ItemsAtTheEdgeReachTheBound) {
  const PrecisionScope scope(113);
  const Contract contract = simulated::f32_contract("acc=f32 sum=sequential");
  const Contract tree = simulated::f32_contract("acc=f32 sum=tree");
  simulated::BoundShares right, wrong;
  for (const std::size_t n : {50, 300, 1000}) {
    for (const double below : {0x1p-6, 0x1.8p-8, 0x1p-10}) {
      Row logits = simulated::peak_over(n - 1, 2 - 3 * below);
      for (std::size_t i = 1; i < n; i += 2) logits[i] = round_to(Format::f32, -2 + below);
      for (const Form form : {Form::variance, Form::quadratic}) {
        const Projected got = root_projection(Arithmetic(contract, Errors::nearest), logits, form);
        const Bound bound(contract, logits, got.support), other(tree, logits, got.support);
        const Enclosure exact = bound.oracle.value(0);
        right.judge("at the edge", got.values[0], exact, bound.at(0));
        wrong.raise("of a tree's bound", simulated::used(got.values[0], exact, other.at(0)));
        // The wrong bound: as if the mean alone carried the sums' errors.
        RootPrefix<UpperBound> without = bound.prefix;
        without.inverse_spread = UpperBound(1);
        const UpperBound moved(std::fabs(bound.top.value() - bound.own.value()));
        const UpperBound d = bound_of<UpperBound>(bound.oracle.half_deviation(0));
        const UpperBound root = bound_of<UpperBound>(bound.oracle.top());
        const UpperBound error = bound.threshold.difference(d, root, bound.threshold.root(without) + moved);
        const double limit = upper(bound.threshold.coefficient(root, error));
        wrong.raise("without the slope", simulated::used(got.values[0], exact, limit));
      }
    }
  }
  right.print("B21");
  wrong.print("B21");
  EXPECT_GT(wrong.of("without the slope"), 1);
}

TEST(RoundingRootProjection, ABoundWithoutTheConversionIsRejected) {
  simulated::expect_conversion_needed<Bound>(
      [](const Arithmetic& a, const Row& logits) { return root_projection(a, logits, Form::variance); });
}

}  // namespace
}  // namespace softcheck::numerics::root_projection_test
