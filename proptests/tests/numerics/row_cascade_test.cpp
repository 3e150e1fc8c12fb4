#include "numerics/filter/row_cascade.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "numerics/enclosures/certificate.hpp"
#include "numerics/filter/certified_sum.hpp"
#include "numerics/formats/simd_target.hpp"
#include "proptests/tests/numerics/row_families.hpp"

namespace softcheck {
namespace {

using numerics::Decision;
using numerics::ElementTolerance;
using numerics::Enclosure;
using numerics::Format;
using numerics::PrecisionScope;
using numerics::RowCascade;
using numerics::RowJudgement;
using numerics::RowOracle;
using numerics::SimdTargetScope;

constexpr Format formats[] = {Format::f64, Format::f32, Format::f16, Format::bf16};

/// The verdict without the cascade: one enclosure at 512 bits, the ulp from the definition.
Decision by_enclosure(const RowOracle& oracle, const std::vector<double>& logits, std::size_t i, double got,
                      const ElementTolerance& tolerance) {
  if (!std::isfinite(got)) return Decision::violated;
  const Enclosure p = oracle.softmax(i);
  const numerics::FormatProperties& format = properties(tolerance.format);
  int exponent = format.min_exponent;
  Decision reaches = Decision::proved;
  while ((reaches = less_equal(Enclosure::power_of_two(exponent + 1), p)) == Decision::proved) ++exponent;
  if (reaches == Decision::undecided) return reaches;
  const Enclosure ulp = Enclosure::power_of_two(exponent - format.precision + 1);
  const Enclosure deviation = std::isinf(logits[i]) ? Enclosure() : oracle.deviation(i);
  return less_equal(abs(Enclosure(got) - p),
                    Enclosure(tolerance.ulps) * ulp + Enclosure(tolerance.absolute) +
                        (Enclosure(tolerance.relative) + Enclosure(tolerance.per_deviation) * deviation) * p);
}

/// softmax rounded to a format, correctly or moved by steps of the format.
std::vector<double> rounded_softmax(const RowOracle& oracle, Format format) {
  std::vector<double> values;
  for (std::size_t i = 0; i < oracle.size(); ++i) values.push_back(round_to(format, oracle.softmax(i).midpoint()));
  return values;
}

std::vector<double> moved(std::vector<double> values, Format format, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  for (double& value : values) {
    const std::uint64_t bits = encode(format, value);
    const std::uint64_t step = engine() % 4;
    value = decode(format, engine() % 2 && bits >= step ? bits - step : bits + step);
  }
  return values;
}

void expect_same_verdicts(const tests::NamedRow& row, double theta, const std::vector<double>& got,
                          const ElementTolerance& tolerance) {
  const PrecisionScope scope(512);
  const RowOracle oracle(row.logits, theta);
  std::vector<Decision> expected;
  for (std::size_t i = 0; i < got.size(); ++i) {
    expected.push_back(by_enclosure(oracle, row.logits, i, got[i], tolerance));
  }
  for (const std::string& target : numerics::simd_targets()) {
    const SimdTargetScope forced(target);
    RowCascade cascade(row.logits, theta);
    const RowJudgement judgement = cascade.judge_softmax(got, tolerance);
    EXPECT_EQ(judgement.counts.filter + judgement.counts.double_double + judgement.counts.enclosure, got.size());
    EXPECT_TRUE(judgement.undecided.empty())
        << row.name << ' ' << target << " element " << judgement.undecided.front() << " got "
        << numerics::hex_float(got[judgement.undecided.front()]) << " within " << tolerance.ulps << " ulps of "
        << properties(tolerance.format).name;
    for (std::size_t i = 0; i < got.size(); ++i) {
      // The plain enclosure cannot decide equality where p is no double: there the cascade may know more.
      if (expected[i] == Decision::undecided) continue;
      EXPECT_EQ(judgement.element(i), expected[i])
          << row.name << ' ' << target << " element " << i << " got " << got[i];
    }
  }
}

TEST(RowCascade, AJudgementHasTheSizeOfItsRow) {
  const std::vector<double> logits{0, 1, 2}, got{0.5, 0.5, 0.5};
  const RowJudgement judgement = RowCascade(logits).judge_softmax(got, ElementTolerance{});
  EXPECT_EQ(judgement.size, 3U);
  EXPECT_EQ(judgement.violated, (std::vector<std::size_t>{0, 1, 2}));
}

TEST(RowCascade, TemperaturesReachBothEndsOfTheirRange) {
  const std::vector<double> logits{0, 0};
  for (const double theta : {0x1p-1000, 0x1p1000}) {
    const numerics::Approximation value = RowCascade(logits, theta).entropy();
    EXPECT_LE(std::fabs(value.value - std::log(2.0)), value.error + 0x1p-53) << theta;
    EXPECT_THROW(RowCascade(logits, std::nextafter(theta, theta < 1 ? 0 : HUGE_VAL)), std::invalid_argument) << theta;
  }
}

// Sums that leave nothing of what the larger terms are: what the additions rounded away is all that is left.
TEST(CertifiedSum, WhatCancellationLeavesIsWithinTheError) {
  using Values = std::vector<double>;
  for (const auto& [values, sum] : {std::pair{Values{1, 0x1p60, -0x1p60}, 1.0},
                                    {Values{0x1p53, 1, -0x1p53}, 1.0},
                                    {Values{3, -0x1p70, 5, 0x1p70, 7}, 15.0}}) {
    const numerics::Approximation found = numerics::certified_sum(std::span(values));
    EXPECT_LE(std::fabs(found.value - sum), found.error);
    EXPECT_LT(found.error, 1);
  }
}

TEST(RowCascade, VerdictsAreThoseOfEnclosuresWithinUlps) {
  for (std::size_t n : {1, 2, 5, 8, 19, 64}) {
    for (const tests::NamedRow& row : tests::row_families(n, 11)) {
      const PrecisionScope scope(512);
      const RowOracle oracle(row.logits);
      if (oracle.fully_masked()) continue;
      for (Format format : formats) {
        const std::vector<double> values = rounded_softmax(oracle, format);
        for (double ulps : {0.5, 1.0, 2.0}) {
          expect_same_verdicts(row, 1, moved(values, format, n), ElementTolerance::within_ulps(format, ulps));
        }
      }
    }
  }
}

TEST(RowCascade, VerdictsAreThoseOfEnclosuresWithinRelativeBounds) {
  for (const tests::NamedRow& row : tests::row_families(43, 12)) {
    const PrecisionScope scope(512);
    const RowOracle oracle(row.logits, 1.7);
    for (Format format : formats) {
      const double unit = properties(format).unit_roundoff;
      const std::vector<double> got = moved(rounded_softmax(oracle, format), format, 13);
      const double absolute = properties(format).smallest_subnormal;
      expect_same_verdicts(row, 1.7, got, ElementTolerance::within_relative(2 * unit, 0.25 * unit, absolute));
      expect_same_verdicts(row, 1.7, got, ElementTolerance::within_relative(2 * unit, 0, 0));
    }
  }
}

TEST(RowCascade, TheFilterAloneDecidesCorrectlyRoundedFloats) {
  std::mt19937_64 engine(14);
  std::normal_distribution<float> normal(0, 2);
  numerics::StageCounts counts;
  for (int row = 0; row < 16; ++row) {
    std::vector<float> logits(4096);
    for (float& x : logits) x = normal(engine);
    const std::vector<double> wide(logits.begin(), logits.end());
    const PrecisionScope scope(113);
    const std::vector<double> values = rounded_softmax(RowOracle(wide), Format::f32);
    const std::vector<float> got(values.begin(), values.end());
    RowCascade cascade{std::span<const float>(logits)};
    const RowJudgement judgement = cascade.judge_softmax(got, ElementTolerance::within_ulps(Format::f32, 1));
    EXPECT_EQ(judgement.row(), Decision::proved);
    counts += judgement.counts;
  }
  EXPECT_EQ(counts.filter, 16u * 4096u);
}

TEST(RowCascade, DoubleDoubleDecidesCorrectlyRoundedDoubles) {
  const tests::NamedRow row = tests::row_families(4096, 15).front();
  const PrecisionScope scope(160);
  const std::vector<double> got = rounded_softmax(RowOracle(row.logits), Format::f64);
  RowCascade cascade(row.logits);
  const RowJudgement judgement = cascade.judge_softmax(got, ElementTolerance::within_ulps(Format::f64, 1));
  EXPECT_EQ(judgement.row(), Decision::proved);
  EXPECT_EQ(judgement.counts.enclosure, 0u);
  EXPECT_GT(judgement.counts.double_double, 0u);
}

TEST(RowCascade, EnclosuresDecideWhatDoubleDoubleCannot) {
  const tests::NamedRow row = tests::row_families(20, 16).front();
  const PrecisionScope scope(256);
  const RowOracle oracle(row.logits);
  const double got = round_to(Format::f32, oracle.softmax(3).midpoint());
  const Enclosure distance = abs(Enclosure(got) - oracle.softmax(3));
  // The two doubles around the distance: 2^-53 apart in relation, where double-double resolves 2^-48.
  std::vector<double> values = rounded_softmax(oracle, Format::f64);
  values[3] = got;
  for (const auto& [absolute, expected] :
       {std::pair{distance.lower_double(), Decision::violated}, std::pair{distance.upper_double(), Decision::proved}}) {
    RowCascade cascade(row.logits);
    const RowJudgement judgement = cascade.judge_softmax(values, ElementTolerance::within_relative(0, 0, absolute));
    EXPECT_EQ(judgement.element(3), expected);
    EXPECT_EQ(judgement.counts.enclosure, 1u);
  }
}

// 3/4 of 1/3 away: the first of three equal items a last place nearer, the second there, where the tolerance is 2^-163
// less. 113 bits decide the first alone.
TEST(RowCascade, AnItemThatIsLeftOpenKeepsItsPlace) {
  const std::vector<double> logits(3, 0.0);
  const std::vector<double> got{std::nextafter(5.0 / 12, 0), 0.25, 1.0 / 3};
  ElementTolerance tolerance = ElementTolerance::within_ulps(Format::f64, 0);
  tolerance.relative = 0.25 - 0x1p-55;
  const PrecisionScope scope(512);
  const Enclosure rest = Enclosure(0x1p-55) / 3;
  tolerance.absolute = rest.lower_double();
  tolerance.ulps = (rest - Enclosure(tolerance.absolute)).lower_double() * 0x1p54;  // of 1/3
  RowCascade cascade(logits);
  const RowJudgement judgement = cascade.judge_softmax(got, tolerance);
  EXPECT_EQ(judgement.violated, std::vector<std::size_t>{1});
  EXPECT_EQ(judgement.counts.enclosure, 2u);
}

TEST(RowCascade, ExactTiesOfUniformRowsAreDecided) {
  // p = 2^-6 exactly; below it the ulp is half of what it is above.
  const std::vector<double> logits(64, 3.25);
  const double p = 0x1p-6;
  const double ulp = 0x1p-29;
  RowCascade cascade(logits);
  for (double distance : {ulp, -ulp}) {
    const std::vector<double> at(64, p + distance);
    EXPECT_EQ(cascade.judge_softmax(at, ElementTolerance::within_ulps(Format::f32, 1)).row(), Decision::proved);
    const std::vector<double> beyond(64, p + distance * (1 + 0x1p-20));
    EXPECT_EQ(cascade.judge_softmax(beyond, ElementTolerance::within_ulps(Format::f32, 1)).row(), Decision::violated);
  }
}

TEST(RowCascade, MaskedItemsAreZeroUpToTheSubnormalSpacing) {
  const std::vector<double> logits{0, tests::masked, -1};
  RowCascade cascade(logits);
  std::vector<double> got;
  {
    const PrecisionScope scope(113);
    got = rounded_softmax(RowOracle(logits), Format::f32);
  }
  const ElementTolerance one = ElementTolerance::within_ulps(Format::f32, 1);
  const ElementTolerance exact = ElementTolerance::within_relative(0x1p-20, 0, 0);
  EXPECT_EQ(cascade.judge_softmax(got, one).row(), Decision::proved);
  EXPECT_EQ(cascade.judge_softmax(got, exact).row(), Decision::proved);
  got[1] = 0x1p-149;
  EXPECT_EQ(cascade.judge_softmax(got, one).row(), Decision::proved);
  EXPECT_EQ(cascade.judge_softmax(got, exact).element(1), Decision::violated);
  got[1] = 0x1p-148;
  EXPECT_EQ(cascade.judge_softmax(got, one).element(1), Decision::violated);
  got[1] = -0.0;
  EXPECT_EQ(cascade.judge_softmax(got, one).row(), Decision::proved);
}

TEST(RowCascade, NotANumberAndInfinityAreViolated) {
  const std::vector<double> logits{0, tests::masked, -1, -2, -3, -4, -5, -6, -7};
  for (double wrong : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                       -std::numeric_limits<double>::infinity()}) {
    for (std::size_t i = 0; i < logits.size(); ++i) {
      std::vector<double> got(logits.size(), 0.25);
      got[i] = wrong;
      RowCascade cascade(logits);
      const RowJudgement judgement = cascade.judge_softmax(got, ElementTolerance::within_relative(0x1p100, 0, 1));
      EXPECT_EQ(judgement.violated, std::vector<std::size_t>{i});
      EXPECT_EQ(judgement.element(i), Decision::violated);
    }
  }
}

TEST(RowCascade, ScalarsKeepTheirCertifiedErrors) {
  for (std::size_t n : {1, 3, 40, 1001}) {
    for (const tests::NamedRow& row : tests::row_families(n, 17)) {
      for (double theta : {1.0, 0.3}) {
        const PrecisionScope scope(256);
        const RowOracle oracle(row.logits, theta);
        if (oracle.fully_masked()) continue;
        RowCascade cascade(row.logits, theta);
        const auto check = [&](const numerics::Approximation& value, const Enclosure& exact) {
          if (std::isinf(value.error)) {
            EXPECT_TRUE(std::isinf(exact.upper_double()) || std::isinf(exact.lower_double())) << row.name;
            return;
          }
          EXPECT_EQ(less_equal(abs(Enclosure(value.value) - exact), Enclosure(value.error)), Decision::proved)
              << row.name << " theta " << theta;
        };
        check(cascade.logsumexp(), oracle.logsumexp());
        check(cascade.entropy(), oracle.entropy());
        check(cascade.mean_deviation(), oracle.mean_deviation());
        check(cascade.mean_square_deviation(), oracle.mean_square_deviation());
        const double got = oracle.entropy().midpoint();
        const Enclosure distance = abs(Enclosure(got) - oracle.entropy());
        // An entropy of exp(-1e308) is below everything that enclosures can tell from 0.
        if (distance.lower_double() == 0) continue;
        EXPECT_EQ(cascade.judge_entropy(got, distance.upper_double()), Decision::proved) << row.name;
        EXPECT_EQ(cascade.judge_entropy(got, std::nextafter(distance.lower_double(), 0)), Decision::violated);
        EXPECT_EQ(cascade.judge_logsumexp(NAN, 1), Decision::violated);
      }
    }
  }
}

TEST(RowCascade, RowSumsAreDecidedExactly) {
  const std::vector<double> got{0.5, 0.25, 0.25, 0x1p-80, 1e300, -1e300};
  EXPECT_EQ(numerics::judge_row_sum(got, 0x1p-80), Decision::proved);
  EXPECT_EQ(numerics::judge_row_sum(got, std::nextafter(0x1p-80, 0)), Decision::violated);
  EXPECT_EQ(numerics::judge_row_sum(std::vector<float>{1, NAN}, 1), Decision::violated);
  constexpr double largest = std::numeric_limits<double>::max();
  EXPECT_EQ(numerics::judge_row_sum(std::vector<double>{largest, largest}, 1), Decision::violated);
  EXPECT_EQ(numerics::judge_row_sum(std::vector<double>{largest, largest, -largest, -largest, 1}, 0), Decision::proved);
}

TEST(RowCascade, TheRoundingModeOfTheCallerChangesNothing) {
  const tests::NamedRow row = tests::row_families(200, 19).front();
  const numerics::FilterStatistics nearest = numerics::filter_row(row.logits);
  std::fesetround(FE_UPWARD);
  const numerics::FilterStatistics upward = numerics::filter_row(row.logits);
  const int mode = std::fegetround();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(mode, FE_UPWARD);
  EXPECT_EQ(nearest.sum_minus_one.value, upward.sum_minus_one.value);
  EXPECT_EQ(nearest.sum_minus_one.error, upward.sum_minus_one.error);
}

TEST(RowCascade, WrongCallsAreNamed) {
  const std::vector<double> masked(3, tests::masked);
  RowCascade nothing(masked);
  EXPECT_TRUE(nothing.fully_masked());
  EXPECT_THROW(nothing.judge_softmax(masked, {}), std::invalid_argument);
  EXPECT_THROW(nothing.entropy(), std::invalid_argument);
  const std::vector<double> logits(3, 1.0);
  RowCascade cascade(logits);
  EXPECT_THROW(cascade.judge_softmax(std::vector<double>(2), {}), std::invalid_argument);
  EXPECT_THROW(cascade.judge_softmax(logits, ElementTolerance::within_relative(-1, 0, 0)), std::invalid_argument);
  EXPECT_THROW(cascade.judge_entropy(0, NAN), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck
