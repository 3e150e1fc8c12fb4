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
namespace {

class RepeatWriter {
 public:
  RepeatWriter(const RepeatStyle& style, const std::function<bool(std::size_t, std::size_t)>& same,
               const std::function<std::string(std::size_t)>& word)
      : style_(style), same_(same), word_(word) {}

  void write(std::size_t first, std::size_t end, std::span<const std::size_t> periods) {
    while (first < end) {
      std::size_t best = periods.size(), repeats = 1;
      for (std::size_t k = 0; k < periods.size(); ++k) {
        const std::size_t count = count_of(first, end, periods[k]);
        const std::size_t least = best < periods.size() ? (repeats - 1) * periods[best] : worth(periods[k]);
        if (count < 2 || (count - 1) * periods[k] <= least) continue;
        best = k;
        repeats = count;
      }
      if (best == periods.size()) {
        text_ += word_(first++);
        continue;
      }
      write_block(first, repeats, periods.subspan(best));
      first += repeats * periods[best];
    }
  }
  std::string take() { return std::move(text_); }

 private:
  // A block costs some characters, so it must save more than a single entry.
  std::size_t worth(std::size_t period) const { return period == 1 && !style_.times.empty() ? 0 : 1; }

  std::size_t count_of(std::size_t first, std::size_t end, std::size_t period) const {
    if (period == 0) return 1;
    std::size_t i = first + period;
    while (i < end && same_(i, i - period)) ++i;
    return (i - first) / period;
  }

  void write_block(std::size_t first, std::size_t repeats, std::span<const std::size_t> periods) {
    const std::string count = std::to_string(repeats);
    if (periods.front() == 1 && !style_.times.empty()) {
      text_ += word_(first) + std::string(style_.times) + count;
      return;
    }
    text_ += style_.open;
    write(first, first + periods.front(), periods.subspan(1));
    text_ += std::string(style_.close) + count + std::string(style_.behind);
  }

  const RepeatStyle& style_;
  const std::function<bool(std::size_t, std::size_t)>& same_;
  const std::function<std::string(std::size_t)>& word_;
  std::string text_;
};

}  // namespace

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

std::string repeats_text(std::size_t size, std::span<const std::size_t> periods, const RepeatStyle& style,
                         const std::function<bool(std::size_t, std::size_t)>& same,
                         const std::function<std::string(std::size_t)>& word) {
  RepeatWriter writer(style, same, word);
  writer.write(0, size, periods);
  return writer.take();
}

}  // namespace softcheck::proptests
