#include "numerics/enclosures/ulp.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

namespace softcheck::numerics {
namespace {

constexpr std::uint64_t sign_bit = std::uint64_t{1} << 63;
constexpr std::uint64_t double_infinity_bits = std::uint64_t{0x7ff} << 52;

// Works on bits: with denormals-are-zero, comparisons would take subnormal numbers for zero.
bool is_finite(double value) { return (std::bit_cast<std::uint64_t>(value) & ~sign_bit) < double_infinity_bits; }

// Exponent of the spacing in the binade of exponent e.
long spacing_exponent(Format format, long exponent) {
  const FormatProperties& p = properties(format);
  return std::clamp<long>(exponent, p.min_exponent, p.max_exponent) - p.precision + 1;
}

double power_of_two_by_bits(long exponent) {
  if (exponent < -1022) return std::bit_cast<double>(std::uint64_t{1} << (exponent + 1074));
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// Number of steps from zero to |value|.
std::uint64_t steps_from_zero(Format format, double value) {
  const std::uint64_t bits = encode(format, value);
  if (std::bit_cast<std::uint64_t>(decode(format, bits)) != std::bit_cast<std::uint64_t>(value) || value != value) {
    throw std::invalid_argument("ulp_distance: need numbers of " + std::string(properties(format).name) + ", got " +
                                std::to_string(value));
  }
  return bits & ((std::uint64_t{1} << (properties(format).storage_bits - 1)) - 1);
}

// Exponent e of the binade [2^e, 2^(e + 1)) of a finite endpoint; for zero the smallest.
long binade(Format format, mpfr_srcptr endpoint) {
  return mpfr_zero_p(endpoint) ? properties(format).min_exponent : static_cast<long>(mpfr_get_exp(endpoint)) - 1;
}

}  // namespace

int lowest_bit(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto field = static_cast<int>(bits >> 52 & 0x7ff);
  const std::uint64_t fraction = bits & 0xfffffffffffff;
  const std::uint64_t significand = field == 0 ? fraction : fraction | std::uint64_t{1} << 52;
  return std::max(field, 1) - 1075 + std::countr_zero(significand);
}

double ulp(Format format, double value) {
  if (!is_finite(value)) throw std::invalid_argument("ulp: need a finite value, got " + std::to_string(value));
  const auto biased = static_cast<long>((std::bit_cast<std::uint64_t>(value) & ~sign_bit) >> 52);
  // A subnormal double gives -1023, which is below the smallest normal number of every format.
  return power_of_two_by_bits(spacing_exponent(format, biased - 1023));
}

std::uint64_t ulp_distance(Format format, double a, double b) {
  const std::uint64_t from_a = steps_from_zero(format, a);
  const std::uint64_t from_b = steps_from_zero(format, b);
  const bool same_side = (std::bit_cast<std::uint64_t>(a) & sign_bit) == (std::bit_cast<std::uint64_t>(b) & sign_bit);
  if (!same_side) return from_a + from_b;
  return std::max(from_a, from_b) - std::min(from_a, from_b);
}

Enclosure error_in_ulps(Format format, const Enclosure& exact, double got) {
  if (!mpfi_bounded_p(exact.data()) || !is_finite(got)) {
    throw std::invalid_argument("error_in_ulps: need finite values, got " + exact.to_string() + " and " +
                                std::to_string(got));
  }
  const Enclosure error = abs(Enclosure(got) - exact);
  const Enclosure magnitude = abs(exact);
  const long smallest = spacing_exponent(format, binade(format, &magnitude.data()->left));
  const long largest = spacing_exponent(format, binade(format, &magnitude.data()->right));
  const Enclosure quotient = error * Enclosure::power_of_two(-smallest);
  return smallest == largest ? quotient : hull(quotient, error * Enclosure::power_of_two(-largest));
}

}  // namespace softcheck::numerics
