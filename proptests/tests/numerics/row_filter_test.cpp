#include "numerics/filter/row_filter.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "numerics/enclosures/decision.hpp"
#include "numerics/enclosures/enclosure.hpp"
#include "numerics/filter/double_double.hpp"
#include "numerics/formats/simd_target.hpp"
#include "numerics/rows/row_oracle.hpp"
#include "proptests/tests/numerics/row_families.hpp"

namespace softcheck {
namespace {

using numerics::Decision;
using numerics::Enclosure;
using numerics::FilterStatistics;
using numerics::PrecisionScope;
using numerics::RowOracle;
using numerics::SimdTargetScope;

/// Is |value - exact| <= error?
Decision within(const Enclosure& value, double error, const Enclosure& exact) {
  return numerics::less_equal(abs(value - exact), Enclosure(error));
}

Decision within(const numerics::Approximation& computed, const Enclosure& exact) {
  return within(Enclosure(computed.value), computed.error, exact);
}
Decision within(const numerics::DoubleDoubleApproximation& computed, const Enclosure& exact) {
  return within(Enclosure(computed.value.high) + Enclosure(computed.value.low), computed.error, exact);
}

/// Do all the sums keep their bounds?
template <class Statistics>
Decision sums_within_bounds(const Statistics& statistics, const RowOracle& oracle) {
  return all_of(std::array{within(statistics.sum_minus_one, oracle.sum_minus_one()),
                           within(statistics.weighted_deviation, oracle.weighted_deviation()),
                           within(statistics.second_moment, oracle.second_moment())});
}

Decision within_bounds(const FilterStatistics& statistics, const RowOracle& oracle) {
  return statistics.maximum != oracle.maximum() ? Decision::violated : sums_within_bounds(statistics, oracle);
}

/// First element that its enclosure by the filter misses, or the size: of at most 300 elements of the row.
std::size_t first_missed(const std::vector<double>& logits, const FilterStatistics& statistics,
                         const RowOracle& oracle) {
  const std::vector<numerics::ProbabilityBounds> bounds = numerics::filter_softmax(logits, statistics);
  const std::size_t step = logits.size() / 300 + 1;
  for (std::size_t i = 0; i < logits.size(); i += step) {
    const Enclosure p = oracle.softmax(i);
    const Decision above = less_equal(Enclosure(bounds[i].lower), p);
    if (above != Decision::proved || less_equal(p, Enclosure(bounds[i].upper)) != Decision::proved) return i;
  }
  return logits.size();
}

void expect_bounds_hold(const tests::NamedRow& row, double theta) {
  // Double-double carries 106 bits: 160 leave no doubt about the side on which it lies.
  const PrecisionScope scope(160);
  const RowOracle oracle(row.logits, theta);
  if (oracle.fully_masked()) return;
  for (const std::string& target : numerics::simd_targets()) {
    const SimdTargetScope forced(target);
    SCOPED_TRACE(row.name + " theta=" + std::to_string(theta) + " " + target);
    const FilterStatistics statistics = numerics::filter_row(row.logits, theta);
    EXPECT_EQ(statistics.maximum, oracle.maximum());
    EXPECT_EQ(statistics.visible, oracle.visible());
    EXPECT_EQ(within_bounds(statistics, oracle), Decision::proved);
    EXPECT_EQ(first_missed(row.logits, statistics, oracle), row.logits.size());
    EXPECT_EQ(sums_within_bounds(numerics::double_double_row(row.logits, statistics), oracle), Decision::proved);
  }
}

/// Is |P(r) - exp(r)| <= bound * exp(r) for all |r| <= filter_reduced_range? Proved cell by cell: the difference is
/// sum (c_k - 1/k!) r^k up to degree 24, of small terms that cancel nothing, and Taylor's remainder.
Decision truncation_within(const std::array<double, 10>& coefficients, double bound) {
  const PrecisionScope scope(160);
  std::vector<Enclosure> difference(25);
  Enclosure inverse_factorial(1);
  for (int k = 1; k <= 24; ++k) {
    inverse_factorial /= Enclosure(k);
    if (k >= 2) difference[k] = -inverse_factorial;
    if (k >= 2 && k <= 11) difference[k] += Enclosure(coefficients[k - 2]);
  }
  // |sum over k >= 25| <= |r|^25 / 25! * e^|r|, and e^|r| < 2.
  const Enclosure remainder =
      pow(Enclosure(numerics::filter_reduced_range), 25) * inverse_factorial / Enclosure(25) * Enclosure(2);
  // Centred form on each cell: error(r) lies in error(centre) + error'(cell) (r - centre).
  constexpr int cells = 512;
  const Enclosure width = Enclosure(numerics::filter_reduced_range) / Enclosure(cells);
  for (int cell = -cells; cell < cells; ++cell) {
    const Enclosure left = width * Enclosure(cell);
    const Enclosure r = hull(left, width * Enclosure(cell + 1));
    const Enclosure centre = left + width / Enclosure(2);
    Enclosure error, slope;
    for (int k = 24; k >= 0; --k) error = error * centre + difference[k];
    for (int k = 24; k >= 1; --k) slope = slope * r + Enclosure(k) * difference[k];
    const Enclosure worst = abs(error + slope * (r - centre)) + remainder;
    const Decision decision = numerics::less_equal(worst, Enclosure(bound) * exp(left));
    if (decision != Decision::proved) return decision;
  }
  return Decision::proved;
}

TEST(RowFilter, TheExponentialsTruncationErrorIsProvedOnTheWholeRange) {
  EXPECT_EQ(truncation_within(numerics::filter_exponential_coefficients(), numerics::filter_truncation_bound),
            Decision::proved);
}

TEST(RowFilter, ACoefficientPerturbedByTwoToTheMinus45IsRejected) {
  for (std::size_t k = 0; k < 6; ++k) {
    std::array<double, 10> wrong = numerics::filter_exponential_coefficients();
    wrong[k] += 0x1p-45;
    EXPECT_NE(truncation_within(wrong, numerics::filter_truncation_bound), Decision::proved) << k;
  }
}

TEST(RowFilter, TheReducedArgumentStaysInTheRangeOfThePolynomial) {
  const PrecisionScope scope(160);
  // |r| <= ln 2 / 2 + ln 2 (2^-43 + 1010 * 2^-53) + |rounding of r|: docs/tolerances/cascade.md.
  const Enclosure bound = log(Enclosure(2)) * (Enclosure(0.5) + Enclosure(0x1p-42)) + Enclosure(0x1p-54);
  EXPECT_EQ(numerics::less_equal(bound, Enclosure(numerics::filter_reduced_range)), Decision::proved);
}

TEST(RowFilter, StatisticsAndElementsKeepTheirBoundsOnEveryTarget) {
  for (std::size_t n : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 127, 128, 129, 257, 1000}) {
    for (const tests::NamedRow& row : tests::row_families(n, 1)) {
      expect_bounds_hold(row, 1);
      expect_bounds_hold(row, 0.7);
    }
  }
}

TEST(RowFilter, StatisticsAndElementsKeepTheirBoundsAtExtremeTemperatures) {
  for (double theta : {1e-30, 1e-3, 3.0, 1e4, 1e30, 1e300}) {
    for (const tests::NamedRow& row : tests::row_families(67, 2)) expect_bounds_hold(row, theta);
  }
}

// Labelled full: RowFilter.StatisticsAndElementsKeepTheirBoundsOnLongRows
TEST(RowFilter, StatisticsAndElementsKeepTheirBoundsOnLongRows) {
  for (const tests::NamedRow& row : tests::row_families(1 << 14, 3)) expect_bounds_hold(row, 1);
  const std::vector<tests::NamedRow> rows = tests::row_families(1 << 18, 4);
  expect_bounds_hold(rows.front(), 1.3);
}

TEST(RowFilter, FloatAndDoubleRowsGiveTheSameStatistics) {
  for (const tests::NamedRow& row : tests::row_families(333, 5)) {
    std::vector<float> narrow;
    bool exact = true;
    for (double x : row.logits) {
      narrow.push_back(static_cast<float>(x));
      exact = exact && narrow.back() == x;
    }
    if (!exact) continue;
    const FilterStatistics a = numerics::filter_row(narrow);
    const FilterStatistics b = numerics::filter_row(row.logits);
    EXPECT_EQ(a.sum_minus_one.value, b.sum_minus_one.value) << row.name;
    EXPECT_EQ(a.second_moment.value, b.second_moment.value) << row.name;
  }
}

TEST(RowFilter, APerturbedStatisticIsRejected) {
  const PrecisionScope scope(160);
  for (const tests::NamedRow& row : tests::row_families(1000, 6)) {
    const RowOracle oracle(row.logits);
    const FilterStatistics good = numerics::filter_row(row.logits);
    if (good.sum_minus_one.value < 0x1p-900) continue;
    FilterStatistics wrong = good;
    wrong.sum_minus_one.value *= 1 + 0x1p-43;
    EXPECT_EQ(within_bounds(wrong, oracle), Decision::violated) << row.name;
    if (good.weighted_deviation.value < 0x1p-900) continue;
    wrong = good;
    wrong.weighted_deviation.value *= 1 - 0x1p-42;
    EXPECT_EQ(within_bounds(wrong, oracle), Decision::violated) << row.name;
    wrong = good;
    wrong.element_constant = wrong.element_per_deviation = 0;
    wrong.inverse_sum *= 1 + 0x1p-45;
    EXPECT_NE(first_missed(row.logits, wrong, oracle), row.logits.size()) << row.name;
  }
}

TEST(RowFilter, ADroppedTailIsRejected) {
  const PrecisionScope scope(160);
  for (const tests::NamedRow& row : tests::row_families(1003, 7)) {
    const RowOracle oracle(row.logits);
    const std::span<const double> whole(row.logits);
    const FilterStatistics wrong = numerics::filter_row(whole.first(1000));
    // Unless the three last items weigh less than the bound allows anyway.
    const Enclosure tail = oracle.softmax(1000) + oracle.softmax(1001) + oracle.softmax(1002);
    if (!numerics::Enclosure::between(0, 0x1p-40).contains(tail)) {
      EXPECT_EQ(within_bounds(wrong, oracle), Decision::violated) << row.name;
    }
  }
}

TEST(RowFilter, ADoubleDoubleSumThatLostItsLowPartIsRejected) {
  const PrecisionScope scope(160);
  const tests::NamedRow row = tests::row_families(1000, 8).front();
  const RowOracle oracle(row.logits);
  numerics::DoubleDoubleStatistics statistics =
      numerics::double_double_row(row.logits, numerics::filter_row(row.logits));
  EXPECT_EQ(sums_within_bounds(statistics, oracle), Decision::proved);
  statistics.sum_minus_one.value.low = 0;
  EXPECT_EQ(sums_within_bounds(statistics, oracle), Decision::violated);
}

TEST(RowFilter, TheBoundStaysBelowFortyUnitsAtEveryLength) {
  for (std::size_t n : {16, 4096, 1 << 18}) {
    const FilterStatistics statistics = numerics::filter_row(tests::row_families(n, 9).front().logits);
    EXPECT_LE(statistics.element_constant, 40 * 0x1p-53) << n;
  }
}

TEST(RowFilter, TheErrorOfAnElementIsTheDerivedOne) {
  // docs/tolerances/cascade.md: 6 roundings and the sum's error, all times 1 + 2^-10 or a little more.
  const std::vector<double> logits{0, -0.5, -3, -1.25, -2};
  for (const double theta : {1.0, 0.3}) {
    const FilterStatistics of = numerics::filter_row(logits, theta);
    const double unit = 0x1p-53, relative_sum = of.sum_minus_one.error / (1 + of.sum_minus_one.value);
    const double stated = 6 * unit + relative_sum, of_argument = theta == 1 ? unit : 2 * unit;
    EXPECT_GE(of.element_constant, stated);
    EXPECT_LE(of.element_constant, stated * (1 + 0x1p-6));
    EXPECT_GE(of.element_per_deviation, of_argument);
    EXPECT_LE(of.element_per_deviation, of_argument * (1 + 0x1p-6));
  }
  // Equal logits: the reciprocal of their number, and the product.
  EXPECT_EQ(numerics::filter_row(std::vector<double>(4, 1.5), 1).element_constant, 0);
  EXPECT_EQ(numerics::filter_row(std::vector<double>(3, 1.5), 1).element_constant, 2 * 0x1p-53);
}

TEST(RowFilter, WrongCallsAreNamed) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THROW(numerics::filter_row(std::vector<double>{0, nan}), std::invalid_argument);
  EXPECT_THROW(numerics::filter_row(std::vector<double>{0, infinity}), std::invalid_argument);
  EXPECT_THROW(numerics::filter_row(std::vector<float>(40, NAN)), std::invalid_argument);
  EXPECT_THROW(numerics::filter_row(std::vector<double>{0}, 0), std::invalid_argument);
  EXPECT_THROW(numerics::filter_row(std::vector<double>{0}, nan), std::invalid_argument);
  EXPECT_THROW(const SimdTargetScope scope("ENIAC"), std::invalid_argument);
  EXPECT_EQ(numerics::filter_row(std::vector<double>{}).visible, 0u);
  EXPECT_EQ(numerics::filter_row(std::vector<double>{tests::masked, tests::masked}).visible, 0u);
}

}  // namespace
}  // namespace softcheck
