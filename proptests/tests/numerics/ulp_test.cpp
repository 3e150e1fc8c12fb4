#include "numerics/enclosures/ulp.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "numerics/enclosures/certificate.hpp"
#include "numerics/enclosures/decision.hpp"
#include "numerics/formats/fp_environment.hpp"
#include "numerics/formats/next_double.hpp"
#include "numerics/oracles/attention_oracle.hpp"
#include "numerics/rows/arb_row_oracle.hpp"
#include "numerics/rows/row_oracle.hpp"
#include "proptests/tests/numerics/fp_control.hpp"
#include "proptests/tests/numerics/row_families.hpp"

namespace softcheck::numerics {
namespace {

const std::vector<Format> formats_of_16_bits = [] {
  std::vector<Format> found(all_formats().begin(), all_formats().end());
  std::erase_if(found, [](Format format) { return properties(format).storage_bits > 16; });
  return found;
}();

// All finite numbers of the format, ascending, zero once.
std::vector<double> numbers_of(Format format) {
  std::vector<double> numbers;
  for (std::uint64_t bits = 0; std::isfinite(decode(format, bits)); ++bits) numbers.push_back(decode(format, bits));
  std::vector<double> all;
  for (std::size_t i = numbers.size() - 1; i > 0; --i) all.push_back(-numbers[i]);
  all.insert(all.end(), numbers.begin(), numbers.end());
  return all;
}

TEST(Ulp, DistancesInEverySmallFormatAreDifferencesOfPositions) {
  for (const Format format : formats_of_16_bits) {
    const std::vector<double> numbers = numbers_of(format);
    for (std::size_t i = 0; i + 1 < numbers.size(); ++i) {
      ASSERT_EQ(ulp_distance(format, numbers[i], numbers[i + 1]), 1u);
      ASSERT_EQ(ulp_distance(format, numbers[i + 1], numbers[i]), 1u);
    }
    for (std::size_t from = 0; from < numbers.size(); from += 1 + numbers.size() / 7) {
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        ASSERT_EQ(ulp_distance(format, numbers[from], numbers[i]), std::max(from, i) - std::min(from, i));
      }
    }
  }
}

TEST(Ulp, IsTheStepUpFromEveryNumber) {
  for (const Format format : formats_of_16_bits) {
    const std::vector<double> numbers = numbers_of(format);
    for (std::size_t i = numbers.size() / 2; i + 1 < numbers.size(); ++i) {
      ASSERT_EQ(ulp(format, numbers[i]), numbers[i + 1] - numbers[i]);
      ASSERT_EQ(ulp(format, -numbers[i]), ulp(format, numbers[i]));
      // Between two numbers the spacing is the same.
      ASSERT_EQ(ulp(format, std::nextafter(numbers[i + 1], 0)), ulp(format, numbers[i]));
    }
    EXPECT_EQ(ulp(format, 0), properties(format).smallest_subnormal);
    EXPECT_EQ(ulp(format, 0x1p1023), ulp(format, properties(format).largest));
  }
}

TEST(Ulp, IsTheStepUpOfFloatsAndDoubles) {
  std::mt19937_64 engine(20241001);
  for (int i = 0; i < 100000; ++i) {
    const auto single = std::bit_cast<float>(static_cast<std::uint32_t>(engine()) & 0x7fffffffu);
    const auto any = std::bit_cast<double>(engine() >> 1);
    const float next = std::nextafter(single, HUGE_VALF);
    if (std::isfinite(next)) {
      ASSERT_EQ(ulp(Format::f32, single), static_cast<double>(next) - single);
      ASSERT_EQ(ulp_distance(Format::f32, single, next), 1u);
    }
    const double after = std::nextafter(any, HUGE_VAL);
    if (std::isfinite(after)) {
      ASSERT_EQ(ulp(Format::f64, any), after - any);
      ASSERT_EQ(ulp_distance(Format::f64, -any, -after), 1u);
    }
  }
  EXPECT_EQ(ulp(Format::f64, 0x1p-1074), 0x1p-1074);
}

TEST(Ulp, ZerosAreOneNumberAndInfinityIsTheNext) {
  for (const Format format : all_formats()) {
    const FormatProperties& p = properties(format);
    EXPECT_EQ(ulp_distance(format, -0.0, 0.0), 0u);
    EXPECT_EQ(ulp_distance(format, -p.smallest_subnormal, p.smallest_subnormal), 2u);
    EXPECT_EQ(ulp_distance(format, p.smallest_subnormal, -0.0), 1u);
    EXPECT_TRUE(!p.has_infinity || ulp_distance(format, p.largest, HUGE_VAL) == 1);
  }
}

TEST(Ulp, WrongCallsSayWhatTheyNeed) {
  EXPECT_THROW(ulp(Format::f32, HUGE_VAL), std::invalid_argument);
  EXPECT_THROW(ulp(Format::f32, NAN), std::invalid_argument);
  EXPECT_THROW(ulp_distance(Format::f16, 1.0, 1.0 + 0x1p-20), std::invalid_argument);
  EXPECT_THROW(ulp_distance(Format::f64, NAN, NAN), std::invalid_argument);
  EXPECT_THROW(ulp_distance(Format::e4m3, 448, HUGE_VAL), std::invalid_argument);
  EXPECT_THROW(error_in_ulps(Format::f32, Enclosure(1), HUGE_VAL), std::invalid_argument);
  EXPECT_THROW(error_in_ulps(Format::f32, log(Enclosure(-1)), 1), std::invalid_argument);
}

// Is every rounding within half a unit of the true value, proved?
bool within_half_an_ulp(Format format, const std::function<double(double)>& rounding) {
  std::mt19937_64 engine(20241001);
  const FormatProperties& p = properties(format);
  std::uniform_int_distribution<int> exponent(p.min_exponent - p.precision, std::min(p.max_exponent - 1, 1000));
  for (int i = 0; i < 2000; ++i) {
    const double exact = std::ldexp(1 + static_cast<double>(engine() >> 12) * 0x1p-52, exponent(engine));
    const Enclosure error = error_in_ulps(format, Enclosure(exact), rounding(exact));
    if (less_equal(error, Enclosure(0.5)) != Decision::proved) return false;
  }
  return true;
}

TEST(Ulp, RoundingToNearestErrsByHalfAUnitAtMost) {
  for (const Format format : all_formats()) {
    EXPECT_TRUE(within_half_an_ulp(format, [&](double x) { return round_to(format, x); }));
    if (format == Format::f64) continue;
    EXPECT_FALSE(within_half_an_ulp(format, [&](double x) {
      const double nearest = round_to(format, x);  // planted: truncation
      return nearest > x ? decode(format, encode(format, x) - 1) : nearest;
    }));
  }
}

TEST(Ulp, ErrorUsesTheSpacingAtTheTrueValue) {
  // Just below 1 the spacing of f32 is 2^-24: an error of 2^-24 there is one unit, at 1 and above it is half of one.
  const double below = 1 - 0x1p-30;
  EXPECT_TRUE(error_in_ulps(Format::f32, Enclosure(below), below + 0x1p-24).contains(1.0));
  EXPECT_TRUE(error_in_ulps(Format::f32, Enclosure(1), 1 + 0x1p-24).contains(0.5));
  const Enclosure straddling = Enclosure::between(below, 1 + 0x1p-30);
  const Enclosure error = error_in_ulps(Format::f32, straddling, 1 + 0x1p-24);
  EXPECT_TRUE(error.contains(0.5));
  EXPECT_TRUE(error.contains(1.0));
  EXPECT_TRUE(error_in_ulps(Format::f32, Enclosure(0), 0x1p-149).contains(1.0));
  EXPECT_TRUE(error_in_ulps(Format::f32, Enclosure(0x1p-200), 0).contains(0x1p-51));
}

constexpr double infinite = std::numeric_limits<double>::infinity();

void expect_the_librarys(double x) {
  const auto bits = [](double y) { return std::bit_cast<std::uint64_t>(y); };
  EXPECT_EQ(bits(next_above(x)), bits(std::nextafter(x, infinite))) << x;
  EXPECT_EQ(bits(next_below(x)), bits(std::nextafter(x, -infinite))) << x;
}

TEST(NextDouble, IsTheLibrarys) {
  for (const double x : {0.0, 1.0, std::numeric_limits<double>::min(), std::numeric_limits<double>::denorm_min(),
                         std::numeric_limits<double>::max(), infinite}) {
    expect_the_librarys(x);
    expect_the_librarys(-x);
  }
  std::mt19937_64 random(20261125);
  for (int i = 0; i < 100'000; ++i) {
    const auto x = std::bit_cast<double>(random());
    if (!std::isnan(x)) expect_the_librarys(x);
  }
  EXPECT_TRUE(std::isnan(next_above(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(next_below(std::numeric_limits<double>::quiet_NaN())));
}

// More digits than 113 bits have: two different endpoints print differently.
std::string exact(const Enclosure& value) { return value.to_string(45) + "\n"; }

// Everything the oracles say about rows whose logits, keys and outputs hold subnormal numbers.
std::string everything() {
  // The rows are drawn once, in a sane environment: it is the oracles that are under test.
  static const std::vector<tests::NamedRow> rows = tests::row_families(9, 20241001);
  std::string text;
  for (const auto& [name, logits] : rows) {
    const RowOracle row(logits);
    const AdaptiveRowOracle adaptive(logits, EntropyDefinition::paper);
    text += exact(row.entropy()) + exact(row.logsumexp()) + exact(adaptive.beta()) + std::to_string(row.argmax());
    for (std::size_t i = 0; i < logits.size(); ++i) text += exact(row.softmax(i)) + exact(adaptive.softmax(i));
    if (arb_available()) text += exact(ArbRowOracle(logits).entropy());
  }
  const std::vector<double> subnormal{0, 0x1p-1074, 0x3p-1074, -0x1p-1060};
  text += exact(RowOracle(subnormal).weighted_deviation()) + std::to_string(RowOracle(subnormal).argmax());
  text += exact(RowOracle(subnormal, 0x1p-1074).entropy());
  const AttentionOracle attention(
      {.query = subnormal, .keys = subnormal, .values = subnormal, .value_size = 4, .scale = 0x1p1000, .items = 1});
  for (const Enclosure& value : attention.output()) text += exact(value) + hex_float(value.lower_double());
  for (const Format format : all_formats()) {
    const double smallest = properties(format).smallest_subnormal;
    text += std::to_string(encode(format, smallest)) + hex_float(decode(format, 1)) + hex_float(ulp(format, 0)) +
            std::to_string(ulp_distance(format, -smallest, smallest)) +
            exact(error_in_ulps(format, Enclosure(smallest), smallest));
  }
  const Certificate certificate = certify_less("", "", [] { return Sides{Enclosure(0), Enclosure(0x1p-1074)}; });
  return text + to_string(certificate.verdict);
}

class FpEnvironment : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_fp_control) GTEST_SKIP() << "the register that controls this processor's rounding is not known";
    set_fp_control(power_on);
  }
  void TearDown() override {
    std::fesetround(FE_TONEAREST);
    set_fp_control(power_on);
  }
};

// Not inlined: the comparison must not be moved past the instruction that sets the flags.
__attribute__((noinline)) bool subnormals_are_lost() {
  volatile double subnormal = 0x1p-1074;
  return subnormal == 0;
}

TEST_F(FpEnvironment, LoadingAFastMathLibraryLeavesTheOracleUnharmed) {
  const std::string before = everything();
  void* plugin = dlopen(SOFTCHECK_FAST_MATH_PLUGIN, RTLD_NOW);
  ASSERT_NE(plugin, nullptr) << dlerror();
  const bool flushed = (fp_control() & fast_math_bits) == fast_math_bits;
  const bool lost = subnormals_are_lost();
  const std::string after = everything();
  const bool left_as_found = flushed == ((fp_control() & fast_math_bits) == fast_math_bits);
  dlclose(plugin);
  EXPECT_EQ(before, after);
  EXPECT_TRUE(left_as_found);
  if (!flushed) GTEST_SKIP() << "this toolchain adds no start-up code to libraries linked with -ffast-math";
  EXPECT_TRUE(lost) << "the flags were set, yet nothing was lost: the test shows nothing";
}

TEST_F(FpEnvironment, FlushToZeroLeavesTheOracleUnharmed) {
  const std::string before = everything();
  set_fp_control(power_on | flush_bits);
  const bool lost = subnormals_are_lost();
  const std::string after = everything();
  const std::uint64_t found = fp_control();
  set_fp_control(power_on);
  EXPECT_TRUE(lost);
  EXPECT_EQ(before, after);
  EXPECT_EQ(found & flush_bits, flush_bits) << "the caller's environment was not put back";
}

TEST_F(FpEnvironment, DirectedRoundingLeavesTheOracleUnharmed) {
  const std::string before = everything();
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    const std::string after = everything();
    const int found = std::fegetround();
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(before, after);
    EXPECT_EQ(found, mode);
  }
}

TEST_F(FpEnvironment, GuardsNestAndPutBack) {
  set_fp_control(power_on | flush_bits);
  {
    const FpEnvironmentGuard outer;
    EXPECT_EQ(fp_control() & flush_bits, 0u);
    set_fp_control(fp_control() | one_flush_bit);
    {
      const FpEnvironmentGuard inner;
      EXPECT_EQ(fp_control() & flush_bits, 0u);
    }
    EXPECT_EQ(fp_control() & flush_bits, one_flush_bit);
  }
  EXPECT_EQ(fp_control() & flush_bits, flush_bits);
}

#if defined(__aarch64__)
// Each field that fesetenv(FE_DFL_ENV) leaves as it finds it: FZ16, default NaNs (DN), the alternative half format
// (AHP).
TEST_F(FpEnvironment, EveryFieldOfFpcrIsCleared) {
  const std::vector<std::uint64_t> fields{0x1000000, 0x80000, 0x2000000, 0x4000000, 0x400000, 0x800000};
  for (const std::uint64_t field : fields) {
    set_fp_control(field);
    const std::uint64_t set = fp_control();
    std::uint64_t inside = field;
    {
      const FpEnvironmentGuard guard;
      inside = fp_control();
    }
    const std::uint64_t after = fp_control();
    set_fp_control(power_on);
    EXPECT_EQ(set, field) << "this processor has no such field: the test shows nothing";
    EXPECT_EQ(inside, 0u) << std::hex << field;
    EXPECT_EQ(after, field);
  }
}
#endif

}  // namespace
}  // namespace softcheck::numerics
