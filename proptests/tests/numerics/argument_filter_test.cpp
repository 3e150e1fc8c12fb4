// The quick test of rows by the million proves what is within a threshold, and nothing beyond it.
#include "numerics/filter/argument_filter.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "numerics/enclosures/enclosure.hpp"

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
