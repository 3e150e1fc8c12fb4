#include "numerics/formats/format.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace softcheck::numerics {
namespace {

constexpr double power_of_two(int exponent) {
  double value = 1;
  for (int i = 0; i < exponent; ++i) value *= 2;
  for (int i = 0; i > exponent; --i) value /= 2;
  return value;
}

constexpr FormatProperties describe(std::string_view name, std::string_view file_name, int dlpack_code,
                                    int storage_bits, int precision, int exponent_bits, int max_exponent,
                                    double largest, bool has_infinity) {
  const int min_exponent = 2 - (1 << (exponent_bits - 1));
  return {name, file_name, dlpack_code, storage_bits, precision, exponent_bits, max_exponent, min_exponent,
          power_of_two(-precision), power_of_two(min_exponent), power_of_two(min_exponent - precision + 1), largest,
          has_infinity,
          // CUDA's cvt to 8 bits always saturates, ONNX's Cast by default; torch's and ml_dtypes' never do.
          storage_bits == 8};
}

// Largest value of a format whose top significand is all ones: (2 - 2^(1 - precision)) 2^max_exponent.
constexpr double all_ones(int precision, int max_exponent) {
  return (2 - power_of_two(1 - precision)) * power_of_two(max_exponent);
}

constexpr std::array<FormatProperties, 6> table{
    describe("f64", "F64", 2, 64, 53, 11, 1023, std::numeric_limits<double>::max(), true),
    describe("f32", "F32", 2, 32, 24, 8, 127, all_ones(24, 127), true),
    describe("f16", "F16", 2, 16, 11, 5, 15, all_ones(11, 15), true),
    describe("bf16", "BF16", 4, 16, 8, 8, 127, all_ones(8, 127), true),
    // The all-ones significand of the top binade is NaN: the largest value is 1.75 * 2^8 = 448.
    describe("e4m3", "F8_E4M3", 10, 8, 4, 4, 8, 448, false),
    describe("e5m2", "F8_E5M2", 12, 8, 3, 5, 15, all_ones(3, 15), true),
};

constexpr std::array<Format, 6> formats{Format::f64,  Format::f32,  Format::f16,
                                        Format::bf16, Format::e4m3, Format::e5m2};

constexpr int double_bias = 1023;
constexpr int double_fraction_bits = 52;
constexpr std::uint64_t double_fraction_mask = (std::uint64_t{1} << double_fraction_bits) - 1;

std::uint64_t infinity_bits(const FormatProperties& p) {
  const std::uint64_t exponent_ones = (std::uint64_t{1} << p.exponent_bits) - 1;
  return exponent_ones << (p.precision - 1);
}

std::uint64_t quiet_nan_bits(const FormatProperties& p) {
  // e4m3: exponent and fraction all ones; elsewhere the highest fraction bit beside the infinity pattern.
  if (!p.has_infinity) return (std::uint64_t{1} << (p.storage_bits - 1)) - 1;
  return infinity_bits(p) | (std::uint64_t{1} << (p.precision - 2));
}

std::uint64_t largest_bits(const FormatProperties& p) {
  return p.has_infinity ? infinity_bits(p) - 1 : quiet_nan_bits(p) - 1;
}

// integer >> shift, rounded to nearest even.
std::uint64_t shift_right_to_even(std::uint64_t integer, int shift) {
  if (shift <= 0) return integer << -shift;
  if (shift > 63) return 0;  // the callers' integers stay below 2^53: less than half a unit
  const std::uint64_t quotient = integer >> shift;
  const std::uint64_t rest = integer & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  return quotient + ((rest > half || (rest == half && (quotient & 1))) ? 1 : 0);
}

}  // namespace

const FormatProperties& properties(Format format) { return table[static_cast<std::size_t>(format)]; }

std::span<const Format> all_formats() { return formats; }

std::string format_names() {
  std::string names;
  for (const Format format : formats) {
    names += format == formats.front() ? "" : format == formats.back() ? " or " : ", ";
    names += properties(format).name;
  }
  return names;
}

std::optional<Format> find_format(std::string_view name) {
  for (const Format format : formats) {
    if (properties(format).name == name) return format;
  }
  return std::nullopt;
}

Format parse_format(std::string_view name) {
  if (const std::optional<Format> format = find_format(name)) return *format;
  throw std::invalid_argument("parse_format: need " + format_names() + ", got '" + std::string(name) + "'");
}

double decode(Format format, std::uint64_t bits) {
  if (format == Format::f64) return std::bit_cast<double>(bits);
  const FormatProperties& p = properties(format);
  if (bits >> p.storage_bits) throw std::invalid_argument("decode: bits beyond the storage of " + std::string(p.name));
  const std::uint64_t sign = (bits >> (p.storage_bits - 1)) << 63;
  const std::uint64_t magnitude = bits & ((std::uint64_t{1} << (p.storage_bits - 1)) - 1);
  const int fraction_bits = p.precision - 1;
  std::uint64_t fraction = magnitude & ((std::uint64_t{1} << fraction_bits) - 1);
  int exponent = static_cast<int>(magnitude >> fraction_bits);
  if (magnitude > largest_bits(p)) {
    const bool infinite = p.has_infinity && fraction == 0;
    return std::bit_cast<double>(sign | (infinite ? 0x7ff0000000000000u : 0x7ff8000000000000u));
  }
  if (magnitude == 0) return std::bit_cast<double>(sign);
  int unbiased = exponent == 0 ? p.min_exponent : exponent + p.min_exponent - 1;
  if (exponent == 0) {
    // Subnormal: bring the leading one to the place of the hidden bit.
    const int shift = fraction_bits + 1 - std::bit_width(fraction);
    fraction = (fraction << shift) & ((std::uint64_t{1} << fraction_bits) - 1);
    unbiased -= shift;
  }
  const auto biased = static_cast<std::uint64_t>(unbiased + double_bias);
  return std::bit_cast<double>(sign | (biased << double_fraction_bits) |
                               (fraction << (double_fraction_bits - fraction_bits)));
}

std::uint64_t encode(Format format, double value) {
  const auto double_bits = std::bit_cast<std::uint64_t>(value);
  if (format == Format::f64) return double_bits;
  const FormatProperties& p = properties(format);
  const std::uint64_t sign = (double_bits >> 63) << (p.storage_bits - 1);
  const std::uint64_t magnitude = double_bits & ~(std::uint64_t{1} << 63);
  const std::uint64_t double_infinity = std::uint64_t{0x7ff} << double_fraction_bits;
  if (magnitude > double_infinity) return sign | quiet_nan_bits(p);
  const std::uint64_t overflow = p.has_infinity ? infinity_bits(p) : quiet_nan_bits(p);
  if (magnitude == double_infinity) return sign | overflow;

  const int biased = static_cast<int>(magnitude >> double_fraction_bits);
  if (biased == 0) return sign;  // zero, or below 2^-1022: far under half the smallest subnormal of a smaller format
  const int exponent = biased - double_bias;
  const std::uint64_t significand = (magnitude & double_fraction_mask) | (std::uint64_t{1} << double_fraction_bits);
  const int dropped = double_fraction_bits - (p.precision - 1);
  // In units of the last place of the target; a subnormal result drops one bit more for each exponent below the
  // normals.
  const bool subnormal = exponent < p.min_exponent;
  const int shift = dropped + (subnormal ? p.min_exponent - exponent : 0);
  const std::uint64_t rounded = shift_right_to_even(significand, shift);
  // Adding the rounded significand to the exponent field carries into the next binade by itself.
  const std::uint64_t exponent_field = subnormal ? 0 : static_cast<std::uint64_t>(exponent - p.min_exponent);
  if (exponent > p.max_exponent) return sign | overflow;
  const std::uint64_t result = (exponent_field << (p.precision - 1)) + rounded;
  return sign | (result > largest_bits(p) ? overflow : result);
}

double round_to(Format format, double value) { return decode(format, encode(format, value)); }

bool is_overflow(Format format, double number, bool negative) {
  const FormatProperties& p = properties(format);
  if (std::isnan(number)) return !p.has_infinity;
  if (std::signbit(number) != negative) return false;
  return std::isinf(number) || (p.may_saturate && std::fabs(number) == p.largest);
}

}  // namespace softcheck::numerics
