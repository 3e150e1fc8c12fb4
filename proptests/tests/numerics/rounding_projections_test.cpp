// Sparsemax and squared projections: two routes to the exact values, and B20 and B21 against simulated kernels, with
// wrong versions of them.

#include "numerics/rounding/rounding_projections.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "numerics/oracles/exact_sum.hpp"
#include "numerics/oracles/projections.hpp"
#include "proptests/tests/numerics/row_op_bounds.hpp"

namespace softcheck::numerics::projections_test {
namespace {

using simulated::Arithmetic;
using simulated::Errors;
using simulated::Projected;
using Row = simulated::ProjectionRow;

const auto sparsemax_rows = [](Format format, std::size_t n) {
  return simulated::projection_rows(format, n, {1, 0x1p-4, 0x1p-12});
};
const auto root_rows = [](Format format, std::size_t n) {
  return simulated::projection_rows(format, n, {1, 0x1p-3, 0x1p-11});
};

// edge: how far below the largest logit a support ends.
template <class Oracle>
void expect_conventions(double edge) {
  EXPECT_TRUE(Oracle(Row{edge, 0}).top().contains(1));
  EXPECT_TRUE(Oracle(Row{edge, 0}).value(1).contains(0));
  EXPECT_TRUE(Oracle(Row(4, -3e300)).value(2).contains(0.25));
  EXPECT_EQ(Oracle(Row{0, tests::masked}).value(1).upper_double(), 0);
  EXPECT_THROW(Oracle(Row{tests::masked}), std::invalid_argument);
  EXPECT_THROW(Oracle(Row{NAN}), std::invalid_argument);
}

TEST(Sparsemax, BothRoutesEncloseTheLargestCoefficient) {
  for (const unsigned bits : {64u, 113u, 256u}) {
    const PrecisionScope scope(bits);
    for (const std::size_t n : {1, 2, 3, 8, 40, 300}) {
      for (const Row& logits : sparsemax_rows(Format::f64, n)) {
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
  expect_conventions<SparsemaxOracle>(1);
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
struct SparsemaxBound {
  SparsemaxBound(const Contract& contract, const Row& logits, std::size_t support)
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
void check_support(const SparsemaxBound& bound, const Row& logits, std::size_t support) {
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

const std::vector<simulated::BoundSetting> sparsemax_settings{
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
      const SparsemaxBound bound(contract, logits, got.support);
      check_support(bound, logits, got.support);
      simulated::judge_projection("B20", bound, logits, got, shares);
    }
  };
  simulated::expect_bounds(sparsemax_settings, {1, 2, 3, 8, 40}, sparsemax_rows, check);
}

// From 2^12 on the sum's last place is 2^-11: each item adds a little more than half of it, and the sum a whole one.
TEST(RoundingSparsemax, ASumThatRoundsOneWayReachesTheBound) {
  const PrecisionScope scope(113);
  const Contract contract = simulated::f32_contract("acc=f32 sum=sequential");
  const Row logits = simulated::peak_over(15999, 0.5 + 0x1.02p-12);
  const Projected got = sparsemax(Arithmetic(contract, Errors::nearest), logits, false);
  const SparsemaxBound bound(contract, logits, got.support);
  // The height of another order.
  const SparsemaxBound tree(simulated::f32_contract("acc=f32 sum=tree"), logits, got.support);
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
  const SparsemaxBound bound(contract, logits, sorted.support);
  EXPECT_TRUE(simulated::holds(sorted.values[0], bound.oracle.value(0), bound.at(0)));
  EXPECT_TRUE(simulated::exceeds(-tau, bound.oracle.value(0), bound.at(0)));
}

TEST(RoundingSparsemax, ABoundWithoutTheConversionIsRejected) {
  simulated::expect_conversion_needed<SparsemaxBound>(
      [](const Arithmetic& a, const Row& logits) { return sparsemax(a, logits, false); });
}

TEST(RootProjection, BothRoutesEncloseTheLargestRoot) {
  for (const unsigned bits : {64u, 113u}) {
    const PrecisionScope scope(bits);
    for (const std::size_t n : {1, 2, 3, 8, 40}) {
      for (const Row& logits : root_rows(Format::f64, n)) {
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
  expect_conventions<RootProjectionOracle>(2);
  // The quadratic of all three has the root 0.704.
  EXPECT_TRUE(RootProjectionOracle(Row{0, 0, -1.6}).value(0).contains(0.5));
  EXPECT_LT(RootProjectionOracle(Row{0, 0, -1.6}).value(0).width(), 1e-20);
  EXPECT_TRUE(RootProjectionOracle(Row{2.4, 0}).top().contains(1));
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
struct RootBound {
  RootBound(const Contract& contract, const Row& logits, std::size_t support)
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
    const RootBound bound(contract, logits, k);
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

const std::vector<simulated::BoundSetting> root_settings{
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
      simulated::judge_projection("B21", RootBound(contract, logits, got.support), logits, got, shares);
    }
  };
  simulated::expect_bounds(root_settings, {1, 2, 3, 8, 40}, root_rows, check);
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
        const RootBound bound(contract, logits, got.support), other(tree, logits, got.support);
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
  simulated::expect_conversion_needed<RootBound>(
      [](const Arithmetic& a, const Row& logits) { return root_projection(a, logits, Form::variance); });
}

}  // namespace
}  // namespace softcheck::numerics::projections_test
