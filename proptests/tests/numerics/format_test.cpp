#include "numerics/formats/format.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace softcheck::numerics {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::StartsWith;

const std::vector<Format> small_formats = [] {
  std::vector<Format> found(all_formats().begin(), all_formats().end());
  std::erase_if(found, [](Format format) { return properties(format).storage_bits > 16; });
  return found;
}();

// The reference: MPFR at the precision and the exponents of the format, rounded once to nearest even.
double rounded_by_mpfr(Format format, double value) {
  const FormatProperties& p = properties(format);
  const mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
  mpfr_t wide, narrow;
  mpfr_init2(wide, 53);
  mpfr_init2(narrow, p.precision);
  mpfr_set_d(wide, value, MPFR_RNDN);
  // MPFR's significands lie in [1/2, 1): its exponents are one higher.
  mpfr_set_emin(p.min_exponent - p.precision + 2);
  mpfr_set_emax(p.max_exponent + 1);
  int inexact = mpfr_set(narrow, wide, MPFR_RNDN);
  inexact = mpfr_check_range(narrow, inexact, MPFR_RNDN);
  mpfr_subnormalize(narrow, inexact, MPFR_RNDN);
  double result = mpfr_get_d(narrow, MPFR_RNDN);
  mpfr_set_emin(emin);
  mpfr_set_emax(emax);
  mpfr_clears(wide, narrow, static_cast<mpfr_ptr>(nullptr));
  if (!p.has_infinity && std::abs(result) > p.largest) result = std::numeric_limits<double>::quiet_NaN();
  return result;
}

bool same_number(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

// Finite numbers >= 0 of the format, ascending: exactly those whose patterns ascend from 0.
std::vector<double> nonnegative_numbers(Format format) {
  std::vector<double> numbers;
  for (std::uint64_t bits = 0;; ++bits) {
    const double number = decode(format, bits);
    if (!std::isfinite(number)) return numbers;
    numbers.push_back(number);
  }
}

// Every number, every midpoint between neighbours and the doubles on both sides of each; beyond the largest too.
std::vector<double> critical_values(Format format) {
  std::vector<double> values{0.0, 0x1p-1074, 0x1p-1022, std::numeric_limits<double>::max(), HUGE_VAL};
  const std::vector<double> numbers = nonnegative_numbers(format);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double last_step = numbers.back() - numbers[numbers.size() - 2];
    const double next = i + 1 < numbers.size() ? numbers[i + 1] : numbers.back() + last_step;
    for (const double value : {numbers[i], numbers[i] + (next - numbers[i]) / 2}) {
      values.push_back(value);
      values.push_back(std::nextafter(value, HUGE_VAL));
      if (value > 0) values.push_back(std::nextafter(value, 0));
    }
  }
  const std::size_t count = values.size();
  for (std::size_t i = 0; i < count; ++i) values.push_back(-values[i]);
  return values;
}

TEST(Format, EveryPatternDecodesToWhatItsFieldsSay) {
  for (const Format format : small_formats) {
    const FormatProperties& p = properties(format);
    const int fraction_bits = p.precision - 1;
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << p.storage_bits; ++bits) {
      const double fraction = static_cast<double>(bits & ((1u << fraction_bits) - 1));
      const int exponent = static_cast<int>((bits >> fraction_bits) & ((1u << p.exponent_bits) - 1));
      const int all_ones = (1 << p.exponent_bits) - 1;
      const double sign = bits >> (p.storage_bits - 1) ? -1.0 : 1.0;
      double expected = std::ldexp(fraction + (exponent ? std::ldexp(1.0, fraction_bits) : 0.0),
                                   std::max(exponent, 1) - (all_ones >> 1) - fraction_bits);
      if (p.has_infinity && exponent == all_ones) expected = fraction == 0 ? HUGE_VAL : NAN;
      if (!p.has_infinity && exponent == all_ones && std::ldexp(fraction + 1, -fraction_bits) == 1) expected = NAN;
      ASSERT_TRUE(same_number(decode(format, bits), std::copysign(expected, sign))) << p.name << " " << bits;
    }
  }
}

TEST(Format, EveryPatternSurvivesTheRoundTrip) {
  for (const Format format : small_formats) {
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << properties(format).storage_bits; ++bits) {
      const double value = decode(format, bits);
      if (std::isnan(value)) {
        ASSERT_TRUE(std::isnan(decode(format, encode(format, value))));
      } else {
        ASSERT_EQ(encode(format, value), bits) << properties(format).name;
      }
    }
  }
}

TEST(Format, ManyAreConvertedAsOneIs) {
  for (const Format format : all_formats()) {
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - properties(format).storage_bits);
    std::vector<std::uint64_t> patterns;  // of 8 and 16 bits all; of others subnormals, infinities and NaNs among them
    for (std::uint64_t k = 0; k < 65536; ++k)
      patterns.push_back((k << std::max(properties(format).storage_bits - 16, 0) | k) & all);
    const std::vector<double> values = decode_all(format, patterns);
    for (std::size_t i = 0; i < patterns.size(); ++i)
      ASSERT_EQ(std::bit_cast<std::uint64_t>(values[i]), std::bit_cast<std::uint64_t>(decode(format, patterns[i])))
          << properties(format).name << " " << patterns[i];
    // And what lies between two of the format or beyond all, and a NaN whose bits reach an f32.
    std::vector<double> numbers = values;
    numbers.push_back(std::bit_cast<double>(std::uint64_t{0x7ff8000020000000}));
    for (const double x : values) numbers.insert(numbers.end(), {x * (1 + 0x1p-24), x * (1 + 0x1p-30), x * 0x1.8p30});
    const std::vector<std::uint64_t> again = encode_all(format, numbers);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      ASSERT_EQ(again[i], encode(format, numbers[i])) << properties(format).name << " " << numbers[i];
  }
  EXPECT_THROW(decode_all(Format::f16, std::vector<std::uint64_t>{0, 0x10000}), std::invalid_argument);
}

TEST(Format, EveryMidpointAndItsNeighboursRoundAsMpfrDoes) {
  for (const Format format : small_formats) {
    for (const double value : critical_values(format)) {
      ASSERT_PRED2(same_number, decode(format, encode(format, value)), rounded_by_mpfr(format, value))
          << properties(format).name;
    }
  }
}

TEST(Format, PropertiesAreThoseOfTheNumbers) {
  for (const Format format : small_formats) {
    const FormatProperties& p = properties(format);
    const std::vector<double> numbers = nonnegative_numbers(format);
    EXPECT_EQ(p.largest, numbers.back());
    EXPECT_EQ(p.smallest_subnormal, numbers[1]);
    EXPECT_EQ(p.smallest_normal, numbers[std::size_t{1} << (p.precision - 1)]);
    EXPECT_EQ(p.unit_roundoff * 2, decode(format, encode(format, 1.0) + 1) - 1);
    EXPECT_EQ(std::ilogb(p.largest), p.max_exponent);
    EXPECT_EQ(parse_format(p.name), format);
  }
  const auto same_as = [](auto limits, const FormatProperties& p) {
    using Limits = decltype(limits);
    return p.largest == Limits::max() && p.smallest_normal == Limits::min() &&
           p.smallest_subnormal == Limits::denorm_min() && p.precision == Limits::digits &&
           p.unit_roundoff * 2 == Limits::epsilon();
  };
  EXPECT_TRUE(same_as(std::numeric_limits<float>(), properties(Format::f32)));
  EXPECT_TRUE(same_as(std::numeric_limits<double>(), properties(Format::f64)));
}

TEST(Format, SinglePrecisionRoundsAsTheCompilerDoes) {
  std::mt19937_64 engine(20241001);
  const auto agree = [](double value) {
    const auto expected = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    const std::uint64_t got = encode(Format::f32, value);
    return got == expected && decode(Format::f32, got) == static_cast<double>(static_cast<float>(value));
  };
  for (int i = 0; i < 400000; ++i) {
    const double any = std::bit_cast<double>(engine());
    ASSERT_TRUE(std::isnan(any) || agree(any)) << any;
    // Around the halves between neighbours, subnormal numbers included: a quarter of the draws.
    auto bits = static_cast<std::uint32_t>(engine());
    if (i % 4 == 0) bits &= 0x807fffffu;
    const double low = std::bit_cast<float>(bits);
    const double high = std::bit_cast<float>(bits + 1);
    if (!std::isfinite(low) || !std::isfinite(high)) continue;
    const double half = low + (high - low) / 2;
    for (const double value : {half, std::nextafter(half, HUGE_VAL), std::nextafter(half, -HUGE_VAL)}) {
      ASSERT_TRUE(agree(value)) << value;
    }
  }
  const double threshold = 0x1.ffffffp127;  // halfway between the largest number and 2^128
  EXPECT_EQ(round_to(Format::f32, threshold), HUGE_VAL);
  EXPECT_EQ(round_to(Format::f32, std::nextafter(threshold, 0)), properties(Format::f32).largest);
}

TEST(Format, EveryBfloat16IsTheUpperHalfOfAFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    ASSERT_TRUE(same_number(decode(Format::bf16, bits), std::bit_cast<float>(bits << 16)));
  }
}

#if defined(__x86_64__)
__attribute__((target("f16c"))) float half_to_float_by_hardware(std::uint16_t bits) { return _cvtsh_ss(bits); }
__attribute__((target("f16c"))) std::uint16_t float_to_half_by_hardware(float value) {
  return _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT);
}

bool converts_halves() { return __builtin_cpu_supports("avx2") != 0; }  // and hence has F16C
#elif defined(__aarch64__)
float half_to_float_by_hardware(std::uint16_t bits) { return std::bit_cast<__fp16>(bits); }
std::uint16_t float_to_half_by_hardware(float value) {
  const auto half = static_cast<__fp16>(value);
  return std::bit_cast<std::uint16_t>(half);
}
bool converts_halves() { return true; }
#else
float half_to_float_by_hardware(std::uint16_t) { return 0; }
std::uint16_t float_to_half_by_hardware(float) { return 0; }
bool converts_halves() { return false; }
#endif

TEST(Format, EveryHalfAgreesWithTheHardware) {
  if (!converts_halves()) GTEST_SKIP() << "no instruction that converts halves is known here";
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const double expected = half_to_float_by_hardware(static_cast<std::uint16_t>(bits));
    ASSERT_TRUE(same_number(decode(Format::f16, bits), expected)) << bits;
  }
  for (const double value : critical_values(Format::f16)) {
    const auto single = static_cast<float>(value);
    ASSERT_EQ(encode(Format::f16, single), float_to_half_by_hardware(single)) << value;
  }
}

TEST(Format, NotANumberStaysOne) {
  for (const Format format : all_formats()) EXPECT_TRUE(std::isnan(round_to(format, NAN)));
  EXPECT_EQ(round_to(Format::f16, -HUGE_VAL), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(round_to(Format::e4m3, HUGE_VAL)));
  EXPECT_EQ(round_to(Format::e4m3, 464.0), 448.0);  // the tie beside the NaN pattern goes to the even 448
}

// What the OFP8 specification (revision 1.0, tables 1 and 2) says of single patterns.
TEST(Format, FormatsOfEightBitsAreThoseOfTheOcp) {
  EXPECT_EQ(decode(Format::e4m3, 0x7e), 448);
  EXPECT_TRUE(std::isnan(decode(Format::e4m3, 0x7f)) && std::isnan(decode(Format::e4m3, 0xff)));
  EXPECT_EQ(decode(Format::e4m3, 0x08), 0x1p-6);
  EXPECT_EQ(decode(Format::e4m3, 0x01), 0x1p-9);
  EXPECT_TRUE(same_number(decode(Format::e4m3, 0x80), -0.0));
  EXPECT_EQ(decode(Format::e5m2, 0x7b), 57344);
  EXPECT_EQ(decode(Format::e5m2, 0x7c), HUGE_VAL);
  EXPECT_TRUE(std::isnan(decode(Format::e5m2, 0x7d)) && std::isnan(decode(Format::e5m2, 0xff)));
  EXPECT_EQ(decode(Format::e5m2, 0x01), 0x1p-16);
}

TEST(Format, EveryE5m2IsTheUpperHalfOfAHalf) {
  for (std::uint32_t bits = 0; bits < 0x100; ++bits) {
    ASSERT_TRUE(same_number(decode(Format::e5m2, bits), decode(Format::f16, bits << 8))) << bits;
  }
}

TEST(Format, AnOverflowIsWhatConversionsMakeOfIt) {
  for (const Format format : small_formats) {
    const FormatProperties& p = properties(format);
    const bool eight = p.storage_bits == 8;
    for (const double sign : {1.0, -1.0}) {
      const double beyond = round_to(format, sign * 4 * p.largest);
      EXPECT_TRUE(is_overflow(format, beyond, sign < 0)) << p.name;
      EXPECT_EQ(is_overflow(format, sign * p.largest, sign < 0), eight) << p.name;
      EXPECT_FALSE(is_overflow(format, -sign * p.largest, sign < 0)) << p.name;
      EXPECT_FALSE(is_overflow(format, -sign * HUGE_VAL, sign < 0)) << p.name;
      EXPECT_FALSE(is_overflow(format, sign * p.largest / 2, sign < 0)) << p.name;
      EXPECT_EQ(is_overflow(format, NAN, sign < 0), !p.has_infinity) << p.name;
    }
  }
}

TEST(Format, NamesTellFormatsApart) {
  const std::string last(properties(all_formats().back()).name);
  EXPECT_THAT(format_names(), AllOf(StartsWith("f64, f32, f16, bf16, e4m3"), EndsWith(" or " + last)));
  EXPECT_THAT(format_names(16), AllOf(StartsWith("f16, bf16, e4m3"), EndsWith(" or " + last)));
  for (const Format one : all_formats()) {
    EXPECT_EQ(find_format(properties(one).name), one);
    for (const Format other : all_formats()) {
      const FormatProperties &a = properties(one), &b = properties(other);
      const bool same_type = a.dlpack_code == b.dlpack_code && a.storage_bits == b.storage_bits;
      EXPECT_EQ(same_type, one == other) << a.name << " " << b.name;
      EXPECT_EQ(a.file_name == b.file_name, one == other) << a.name << " " << b.name;
    }
  }
  EXPECT_EQ(find_format("f8"), std::nullopt);
}

TEST(Format, WrongCallsSayWhatTheyNeed) {
  EXPECT_THROW(decode(Format::f16, 0x10000), std::invalid_argument);
  EXPECT_THROW(parse_format("f17"), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::numerics
