#include "proptests/generators/text/case_text.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <system_error>

namespace softcheck::proptests {

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; (begin = text.find_first_not_of(' ', begin)) != std::string_view::npos;) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

double parse_number(std::string_view word) {
  std::string_view digits = word;
  const bool negative = digits.starts_with('-');
  if (negative) digits.remove_prefix(1);
  double value = std::numeric_limits<double>::infinity();
  if (digits != "inf") {
    const bool hexadecimal = digits.starts_with("0x");
    if (hexadecimal) digits.remove_prefix(2);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value,
                                              hexadecimal ? std::chars_format::hex : std::chars_format::general);
    if (error != std::errc() || end != digits.data() + digits.size() || digits.starts_with('-') ||
        !std::isfinite(value)) {
      throw std::invalid_argument("case text: need a number such as 0x1.8p+1, got \"" + std::string(word) + "\"");
    }
  }
  return negative ? -value : value;
}

std::uint64_t parse_count(std::string_view word, std::uint64_t lowest, std::uint64_t highest) {
  std::string_view digits = word;
  const bool hexadecimal = digits.starts_with("0x");
  if (hexadecimal) digits.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, hexadecimal ? 16 : 10);
  if (error != std::errc() || end != digits.data() + digits.size() || value < lowest || value > highest) {
    throw std::invalid_argument("case text: need a whole number in [" + std::to_string(lowest) + ", " +
                                std::to_string(highest) + "], got \"" + std::string(word) + "\"");
  }
  return value;
}

std::string_view value_of(std::string_view word, std::string_view key) {
  if (!word.starts_with(key) || word.size() <= key.size() || word[key.size()] != '=') {
    throw std::invalid_argument("case text: need " + std::string(key) + "=..., got \"" + std::string(word) + "\"");
  }
  return word.substr(key.size() + 1);
}

int complexity(double value) {
  if (value == 0) return std::signbit(value) ? 1 : 0;
  constexpr int masked = 4;
  if (!std::isfinite(value)) return masked;
  int exponent = 0;
  auto significand = static_cast<std::int64_t>(std::ldexp(std::frexp(std::fabs(value), &exponent), 53));
  int bits = 53;
  for (; significand % 2 == 0; significand /= 2) --bits;
  return bits + std::abs(exponent - 1) + (value < 0 ? 1 : 0);
}

bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

double round_to_bits(double value, int bits) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  const double significand = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(significand, bits)), exponent - bits);
}

std::vector<double> simpler_numbers(double value) {
  std::vector<double> result;
  const auto offer = [&](double candidate) {
    if (std::isfinite(candidate) && complexity(candidate) < complexity(value)) result.push_back(candidate);
  };
  offer(0.0);
  if (!std::isfinite(value)) return result;
  offer(std::copysign(1.0, value));
  offer(std::trunc(value));
  for (int bits : {1, 2, 4, 8, 16, 32}) offer(round_to_bits(value, bits));
  int exponent = 0;
  const double significand = std::frexp(value, &exponent);
  offer(std::ldexp(significand, exponent / 2));
  offer(std::ldexp(significand, exponent < 1 ? exponent + 1 : exponent - 1));
  offer(-value);
  return result;
}

}  // namespace softcheck::proptests
