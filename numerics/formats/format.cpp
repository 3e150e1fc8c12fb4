#include "numerics/formats/format.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "numerics/formats/fp_environment.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::numerics {
namespace {

constexpr double power_of_two(int exponent) {
  double value = 1;
  for (int i = 0; i < exponent; ++i) value *= 2;
  for (int i = 0; i > exponent; --i) value /= 2;
  return value;
}

constexpr FormatProperties describe(std::string_view name, std::string_view array_name, std::string_view file_name,
                                    int dlpack_code, int storage_bits, int precision, int exponent_bits,
                                    int max_exponent, double largest, bool has_infinity) {
  const int min_exponent = 2 - (1 << (exponent_bits - 1));
  return {name, array_name, file_name, dlpack_code, storage_bits, precision, exponent_bits, max_exponent, min_exponent,
          power_of_two(-precision), power_of_two(min_exponent), power_of_two(min_exponent - precision + 1), largest,
          has_infinity,
          // CUDA's cvt to 8 bits always saturates, ONNX's Cast by default; torch's and ml_dtypes' conversions never do.
          storage_bits == 8};
}

// The largest value of a format whose top significand is all ones: (2 - 2^(1 - precision)) 2^max_exponent.
constexpr double all_ones(int precision, int max_exponent) {
  return (2 - power_of_two(1 - precision)) * power_of_two(max_exponent);
}

// In the order of the enumeration.
constexpr std::array table{
    describe("f64", "float64", "F64", 2, 64, 53, 11, 1023, std::numeric_limits<double>::max(), true),
    describe("f32", "float32", "F32", 2, 32, 24, 8, 127, all_ones(24, 127), true),
    describe("f16", "float16", "F16", 2, 16, 11, 5, 15, all_ones(11, 15), true),
    describe("bf16", "bfloat16", "BF16", 4, 16, 8, 8, 127, all_ones(8, 127), true),
    // The all-ones significand of the top binade is NaN: the largest value is 1.75 * 2^8 = 448.
    describe("e4m3", "float8_e4m3fn", "F8_E4M3", 10, 8, 4, 4, 8, 448, false),
    describe("e5m2", "float8_e5m2", "F8_E5M2", 12, 8, 3, 5, 15, all_ones(3, 15), true),
};

constexpr auto formats = [] {
  std::array<Format, table.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Format>(i);
  return all;
}();

constexpr int double_bias = 1023;
constexpr int double_fraction_bits = 52;
constexpr std::uint64_t double_fraction_mask = (std::uint64_t{1} << double_fraction_bits) - 1;

constexpr std::uint64_t infinity_bits(const FormatProperties& p) {
  const std::uint64_t exponent_ones = (std::uint64_t{1} << p.exponent_bits) - 1;
  return exponent_ones << (p.precision - 1);
}

constexpr std::uint64_t quiet_nan_bits(const FormatProperties& p) {
  // e4m3: exponent and fraction all ones; else the infinity pattern with the highest fraction bit.
  if (!p.has_infinity) return (std::uint64_t{1} << (p.storage_bits - 1)) - 1;
  return infinity_bits(p) | (std::uint64_t{1} << (p.precision - 2));
}

constexpr std::uint64_t largest_bits(const FormatProperties& p) {
  return p.has_infinity ? infinity_bits(p) - 1 : quiet_nan_bits(p) - 1;
}

// integer >> shift, rounded to nearest, ties to even.
std::uint64_t shift_right_to_even(std::uint64_t integer, int shift) {
  if (shift <= 0) return integer << -shift;
  if (shift > 63) return 0;  // the callers' integers stay below 2^53: less than half a unit
  const std::uint64_t quotient = integer >> shift;
  const std::uint64_t rest = integer & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  return quotient + ((rest > half || (rest == half && (quotient & 1))) ? 1 : 0);
}

// The difference between a double's exponent field and that of a normal number of the format.
constexpr std::uint64_t rebias(const FormatProperties& p) {
  return static_cast<std::uint64_t>(p.min_exponent - 1 + double_bias) << double_fraction_bits;
}

// Templates make the format's numbers constants: a kernel call converts each of its elements.
template <Format format>
double decoded(std::uint64_t bits) {
  constexpr const FormatProperties& p = table[static_cast<std::size_t>(format)];
  if (bits >> p.storage_bits) throw std::invalid_argument("decode: bits beyond the storage of " + std::string(p.name));
  const std::uint64_t sign = (bits >> (p.storage_bits - 1)) << 63;
  const std::uint64_t magnitude = bits & ((std::uint64_t{1} << (p.storage_bits - 1)) - 1);
  constexpr int fraction_bits = p.precision - 1, rest = double_fraction_bits - fraction_bits;
  constexpr std::uint64_t smallest_normal = std::uint64_t{1} << fraction_bits;
  if (magnitude > largest_bits(p)) {
    const bool infinite = p.has_infinity && (magnitude & (smallest_normal - 1)) == 0;
    return std::bit_cast<double>(sign | (infinite ? 0x7ff0000000000000u : 0x7ff8000000000000u));
  }
  if (magnitude >= smallest_normal) return std::bit_cast<double>(sign | ((magnitude << rest) + rebias(p)));
  if (magnitude == 0) return std::bit_cast<double>(sign);
  // Subnormal: move the leading one to the place of the hidden bit, which counts as one exponent more.
  const int shift = fraction_bits + 1 - std::bit_width(magnitude);
  return std::bit_cast<double>(sign | (((magnitude << shift << rest) + rebias(p)) -
                                       (static_cast<std::uint64_t>(shift) << double_fraction_bits)));
}

template <>
double decoded<Format::f64>(std::uint64_t bits) {
  return std::bit_cast<double>(bits);
}

template <Format format>
std::uint64_t encoded(double value) {
  const auto double_bits = std::bit_cast<std::uint64_t>(value);
  constexpr const FormatProperties& p = table[static_cast<std::size_t>(format)];
  const std::uint64_t sign = (double_bits >> 63) << (p.storage_bits - 1);
  const std::uint64_t magnitude = double_bits & ~(std::uint64_t{1} << 63);
  const std::uint64_t double_infinity = std::uint64_t{0x7ff} << double_fraction_bits;
  if (magnitude > double_infinity) return sign | quiet_nan_bits(p);
  const std::uint64_t overflow = p.has_infinity ? infinity_bits(p) : quiet_nan_bits(p);
  if (magnitude == double_infinity) return sign | overflow;

  constexpr int dropped = double_fraction_bits - (p.precision - 1);
  constexpr std::uint64_t lost = (std::uint64_t{1} << dropped) - 1;
  constexpr auto smallest_normal = std::bit_cast<std::uint64_t>(p.smallest_normal);
  constexpr auto largest = std::bit_cast<std::uint64_t>(p.largest);
  // Already a number of the format, as nearly all are.
  if (magnitude >= smallest_normal && magnitude <= largest && (magnitude & lost) == 0) {
    return sign | ((magnitude - rebias(p)) >> dropped);
  }
  const int biased = static_cast<int>(magnitude >> double_fraction_bits);
  if (biased == 0) return sign;  // zero, or below 2^-1022: far under half the smallest subnormal of a smaller format
  const int exponent = biased - double_bias;
  const std::uint64_t significand = (magnitude & double_fraction_mask) | (std::uint64_t{1} << double_fraction_bits);
  // In units of the target's last place; a subnormal result drops one more bit for each exponent below the normal
  // numbers.
  const bool subnormal = exponent < p.min_exponent;
  const int shift = dropped + (subnormal ? p.min_exponent - exponent : 0);
  const std::uint64_t rounded = shift_right_to_even(significand, shift);
  // Adding the rounded significand to the exponent field carries into the next binade automatically.
  const std::uint64_t exponent_field = subnormal ? 0 : static_cast<std::uint64_t>(exponent - p.min_exponent);
  if (exponent > p.max_exponent) return sign | overflow;
  const std::uint64_t result = (exponent_field << (p.precision - 1)) + rounded;
  return sign | (result > largest_bits(p) ? overflow : result);
}

template <>
std::uint64_t encoded<Format::f64>(double value) {
  return std::bit_cast<std::uint64_t>(value);
}

template <std::size_t i = 0, typename Action>
auto with(Format format, const Action& act) {
  if constexpr (i + 1 < table.size()) {
    if (format != formats[i]) return with<i + 1>(format, act);
  }
  return act.template operator()<formats[i]>();
}

}  // namespace

const FormatProperties& properties(Format format) { return table[static_cast<std::size_t>(format)]; }

std::span<const Format> all_formats() { return formats; }

std::string format_names(int most_bits) {
  std::vector<std::string_view> found;
  for (const FormatProperties& p : table) {
    if (p.storage_bits <= most_bits) found.push_back(p.name);
  }
  std::string names;
  for (std::size_t i = 0; i < found.size(); ++i) {
    names += i == 0 ? "" : i + 1 == found.size() ? " or " : ", ";
    names += found[i];
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
  return with(format, [&]<Format one>() { return decoded<one>(bits); });
}

std::uint64_t encode(Format format, double value) {
  return with(format, [&]<Format one>() { return encoded<one>(value); });
}

// f32 by the processor's own conversions, vectorized; other formats bit by bit.
std::vector<double> decode_all(Format format, std::span<const std::uint64_t> bits) {
  std::vector<double> values(bits.size());
  const bool fits = std::ranges::none_of(bits, [](std::uint64_t one) { return one >> 32 != 0; });
  if (format == Format::f32 && fits) {
    const FpEnvironmentGuard guard;
    std::ranges::transform(bits, values.begin(), [](std::uint64_t one) {
      const auto value = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(one)));
      return std::isnan(value) ? std::copysign(nan, value) : value;
    });
    return values;
  }
  with(format, [&]<Format one>() { std::ranges::transform(bits, values.begin(), decoded<one>); });
  return values;
}

std::vector<std::uint64_t> encode_all(Format format, std::span<const double> values) {
  std::vector<std::uint64_t> bits(values.size());
  if (format == Format::f32) {
    const FpEnvironmentGuard guard;
    std::ranges::transform(values, bits.begin(), [](double value) -> std::uint64_t {
      const auto one = std::bit_cast<std::uint32_t>(static_cast<float>(value));
      return std::isnan(value) ? (one & 0x80000000u) | 0x7fc00000u : one;
    });
    return bits;
  }
  with(format, [&]<Format one>() { std::ranges::transform(values, bits.begin(), encoded<one>); });
  return bits;
}

double round_to(Format format, double value) {
  return with(format, [&]<Format one>() { return decoded<one>(encoded<one>(value)); });
}

bool is_overflow(Format format, double number, bool negative) {
  const FormatProperties& p = properties(format);
  if (std::isnan(number)) return !p.has_infinity;
  if (std::signbit(number) != negative) return false;
  return std::isinf(number) || (p.may_saturate && std::fabs(number) == p.largest);
}

}  // namespace softcheck::numerics
