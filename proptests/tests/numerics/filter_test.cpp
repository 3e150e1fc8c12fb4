#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "numerics/enclosures/decision.hpp"
#include "numerics/enclosures/enclosure.hpp"
#include "numerics/filter/argument_filter.hpp"
#include "numerics/filter/double_double.hpp"
#include "numerics/filter/row_filter.hpp"
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

/// Is |P(r) - exp(r)| <= filter_truncation_bound * exp(r) for all |r| <= filter_reduced_range? Proved cell by cell: the
/// difference is sum (c_k - 1/k!) r^k up to degree 24, of small terms that cancel nothing, and Taylor's remainder.
Decision truncation_within_bound() {
  const PrecisionScope scope(160);
  std::vector<Enclosure> difference(25);
  Enclosure inverse_factorial(1);
  for (int k = 1; k <= 24; ++k) {
    inverse_factorial /= Enclosure(k);
    if (k >= 2) difference[k] = -inverse_factorial;
    if (k >= 2 && k <= 11) difference[k] += Enclosure(numerics::filter_exponential_coefficients()[k - 2]);
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
    const Decision decision = numerics::less_equal(worst, Enclosure(numerics::filter_truncation_bound) * exp(left));
    if (decision != Decision::proved) return decision;
  }
  return Decision::proved;
}

TEST(RowFilter, TheExponentialsTruncationErrorIsProvedOnTheWholeRange) {
  EXPECT_EQ(truncation_within_bound(), Decision::proved);
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

// The quick test of rows by the million proves what is within a threshold, and nothing beyond it.
namespace softcheck::numerics::argument_filter_test {
namespace {

constexpr std::array values{ArgumentValue::coefficient, ArgumentValue::log_coefficient, ArgumentValue::logsumexp,
                            ArgumentValue::entropy};

// The value of a row (0, -D) at its item of that deviation, or of the row.
Enclosure exact(ArgumentValue value, double deviation) {
  const Enclosure weight = exp(-Enclosure(deviation)), log_sum = log1p(weight);
  switch (value) {
    case ArgumentValue::coefficient:
      return weight / (Enclosure(1) + weight);
    case ArgumentValue::log_coefficient:
      return -(Enclosure(deviation) + log_sum);
    case ArgumentValue::logsumexp:
      return log_sum;
    case ArgumentValue::entropy:
      break;
  }
  return log_sum + weight * Enclosure(deviation) / (Enclosure(1) + weight);
}

ArgumentTable same_everywhere(double constant, double slope, double floor) {
  ArgumentTable table;
  for (std::size_t entry = 0; entry < ArgumentTable::entries; ++entry) {
    table.set(entry, {constant, slope, floor, std::numeric_limits<double>::infinity()});
  }
  return table;
}

ArgumentFindings ask(ArgumentValue value, const std::vector<double>& deviation, const std::vector<double>& got,
                     const ArgumentTable& table) {
  ArgumentQuestion question;
  question.value = value;
  question.errors = argument_errors(value, 0, 2);
  ArgumentRows rows{deviation};
  const bool item = value == ArgumentValue::coefficient || value == ArgumentValue::log_coefficient;
  (item ? rows.of_other : rows.of_maximum) = got;
  return judge_arguments(rows, table, question);
}

std::vector<double> deviations() {
  std::mt19937_64 random(20241001);
  std::uniform_real_distribution<double> exponent(-40, 9.4);
  std::vector<double> result;
  for (int i = 0; i < 4001; ++i) result.push_back(std::exp2(exponent(random)));
  return result;
}

TEST(ArgumentFilter, AnEntryHoldsTheDeviationsBetweenItsEnds) {
  for (const double deviation : deviations()) {
    const std::size_t entry = ArgumentTable::entry_of(deviation);
    EXPECT_LE(ArgumentTable::lower_end(entry), deviation);
    EXPECT_GT(ArgumentTable::upper_end(entry), deviation);
  }
  EXPECT_EQ(ArgumentTable::entry_of(0), 0u);
  EXPECT_EQ(ArgumentTable::entry_of(0x1p-1074), 1u);
  EXPECT_EQ(ArgumentTable::entry_of(0x1p1000), ArgumentTable::entries - 1);
}

// Of thresholds of some 40 units of 2^-53 around a value, those that differ by less than the errors stay open.
TEST(ArgumentFilter, ProvesWhatIsWithinAndNothingBeyond) {
  const PrecisionScope precision(113);
  const std::vector<double> all = deviations();
  for (const ArgumentValue value : values) {
    const bool relative = value == ArgumentValue::coefficient;
    const ArgumentTable table = same_everywhere(relative ? 0x1p-46 : 0, 0, relative ? 0 : 0x1p-44);
    for (const int side : {-1, 1}) {
      std::vector<double> within, beyond;
      for (const double deviation : all) {
        const Enclosure middle = exact(value, deviation);
        const Enclosure reach = relative ? middle * Enclosure(0x1p-46) : Enclosure(0x1p-44);
        const Enclosure half = middle + Enclosure(side) * reach * Enclosure(0.5);
        const Enclosure edge = middle + Enclosure(side) * reach;
        within.push_back(half.midpoint());
        // The first double that is certainly not within.
        beyond.push_back(side > 0 ? std::nextafter(edge.upper_double(), 1e300)
                                  : std::nextafter(edge.lower_double(), -1e300));
      }
      const ArgumentFindings proved = ask(value, all, within, table);
      // What is left to enclosures is small against the threshold only where the value is.
      EXPECT_LE(proved.open.size(), all.size() / 4) << static_cast<int>(value);
      EXPECT_EQ(ask(value, all, beyond, table).open.size(), all.size()) << static_cast<int>(value) << " side " << side;
    }
  }
}

TEST(ArgumentFilter, LeavesSignsAndSpecialsToOthers) {
  constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const ArgumentTable wide = same_everywhere(infinity, 0, infinity);
  for (const ArgumentValue value : values) {
    for (const double got : {nan, infinity, -infinity}) {
      EXPECT_EQ(ask(value, {1}, {got}, wide).open.size(), 1u) << static_cast<int>(value) << " got " << got;
    }
    for (const double deviation : {nan, infinity}) {
      EXPECT_EQ(ask(value, {deviation}, {0}, wide).open.size(), 1u) << static_cast<int>(value);
    }
  }
  for (const ArgumentValue value : {ArgumentValue::coefficient, ArgumentValue::entropy}) {
    EXPECT_EQ(ask(value, {800}, {-0.0}, same_everywhere(1, 0, 1)).open.size(), 1u);
    EXPECT_EQ(ask(value, {800}, {0}, same_everywhere(1, 0, 1)).open.size(), 0u);
  }
  EXPECT_EQ(ask(ArgumentValue::coefficient, {1}, {1 + 0x1p-52}, same_everywhere(9, 0, 1)).open.size(), 1u);
}

// ln p of a maximum of 2^40 is as small as that of any other.
TEST(ArgumentFilter, OnlyLogSumExpsAreAsInaccurateAsTheirMaximum) {
  const std::vector<double> deviation{1}, maximum{0x1p40}, got{-0.3132616875182229}, sum{0x1p40 + 0.3132616875182229};
  const ArgumentTable table = same_everywhere(0x1p-40, 0, 0);
  ArgumentRows rows{deviation};
  rows.maximum = maximum;
  for (const ArgumentValue value : {ArgumentValue::log_coefficient, ArgumentValue::logsumexp}) {
    ArgumentQuestion question;
    question.value = value;
    question.errors = argument_errors(value, 1, 2);
    rows.of_maximum = value == ArgumentValue::logsumexp ? sum : got;
    const std::size_t open = judge_arguments(rows, table, question).open.size();
    EXPECT_EQ(open, value == ArgumentValue::logsumexp ? 1u : 0u);
  }
}

TEST(ArgumentFilter, ALogSumExpIsNoEntropy) {
  const PrecisionScope precision(113);
  const ArgumentTable table = same_everywhere(0, 0, 0x1p-30);
  for (const ArgumentValue value : {ArgumentValue::logsumexp, ArgumentValue::entropy}) {
    for (const ArgumentValue other : {ArgumentValue::logsumexp, ArgumentValue::entropy}) {
      const std::vector<double> got{exact(other, 1).midpoint()};
      EXPECT_EQ(ask(value, {1}, got, table).open.size(), value == other ? 0u : 1u);
    }
  }
}

// The deviations end where a page begins that may not be read.
TEST(ArgumentFilter, NothingBehindTheDeviationsIsRead) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const pages = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  double* const end = static_cast<double*>(pages) + page / sizeof(double);
  ASSERT_EQ(mprotect(end, page, PROT_NONE), 0);
  for (const std::size_t n : {1, 3, 7, 9}) {
    const std::span<double> deviation(end - n, n);
    for (std::size_t i = 0; i < n; ++i) deviation[i] = static_cast<double>(i);
    std::vector<double> weights(n, -1);
    argument_weights(deviation, weights);
    for (std::size_t i = 0; i < n; ++i) EXPECT_DOUBLE_EQ(weights[i], std::exp(-deviation[i]));
  }
  munmap(pages, 2 * page);
}

TEST(ArgumentFilter, ShowsTheLargestShareAndWhereItStands) {
  const PrecisionScope precision(113);
  std::vector<double> all(100, 1), got(100);
  const double middle = exact(ArgumentValue::coefficient, 1).midpoint(), unit = 0x1p-25;  // of f32 in [1/4, 1/2)
  for (std::size_t i = 0; i < got.size(); ++i) got[i] = middle + unit * static_cast<double>(i == 77 ? -8 : 2);
  const ArgumentFindings found = ask(ArgumentValue::coefficient, all, got, same_everywhere(0, 0, 16 * unit));
  EXPECT_TRUE(found.open.empty());
  EXPECT_EQ(found.largest_at, 77u);
  EXPECT_NEAR(found.largest_share, 0.5, 0x1p-20);
  EXPECT_EQ(found.worst_at, 77u);
  EXPECT_NEAR(found.worst_ulps, 8, 0x1p-20);
  EXPECT_NEAR(found.worst_allowed, 16, 0x1p-20);
  EXPECT_NEAR(found.total_ulps, 99 * 2 - 8, 0x1p-15);
  EXPECT_EQ(found.ulps, 100u);
}

}  // namespace
}  // namespace softcheck::numerics::argument_filter_test
