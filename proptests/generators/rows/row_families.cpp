#include "proptests/generators/rows/row_families.hpp"

#include <algorithm>
#include <cmath>

namespace softcheck::proptests {
using numerics::Format;

namespace {

/// 2^k times a 4-bit number: scales with short texts.
double short_scale(Draw& draw, int lowest, int highest) {
  const int exponent = draw.between(lowest, highest) - 3;
  return std::ldexp(static_cast<double>(8 + draw.below(8)), exponent);
}

std::vector<double> ramp(Draw& draw, Format format, std::size_t slots, bool up) {
  const double step = short_scale(draw, -10, 3);
  const double start = draw.one_in(2) ? 0 : short_scale(draw, -2, 6);
  std::vector<double> values;
  for (std::size_t i = 0; i < slots; ++i) {
    const auto position = static_cast<double>(up ? i : slots - 1 - i);
    values.push_back(into_format(format, start + step * position));
  }
  return values;
}

/// `background` everywhere except one place, which is `height` higher.
std::vector<double> peak(Draw& draw, Format format, std::size_t slots, double height) {
  const double background = draw.one_in(2) ? 0 : into_format(format, 4 * draw.normal());
  std::vector<double> values(slots, background);
  values[draw.below(slots)] = into_format(format, background + height);
  return values;
}

std::vector<double> ties(Draw& draw, Format format, std::size_t slots) {
  std::vector<double> levels;
  for (std::uint64_t i = 2 + draw.below(3); i > 0; --i) levels.push_back(into_format(format, 3 * draw.normal()));
  std::vector<double> values;
  for (std::size_t i = 0; i < slots; ++i) values.push_back(levels[draw.below(levels.size())]);
  const double largest = *std::max_element(levels.begin(), levels.end());
  values.front() = values.back() = values[draw.below(slots)] = largest;
  return values;
}

std::vector<double> normal(Draw& draw, Format format, std::size_t slots, double scale) {
  std::vector<double> values;
  for (std::size_t i = 0; i < slots; ++i) values.push_back(into_format(format, scale * draw.normal()));
  return values;
}

std::vector<double> late_peak(Draw& draw, Format format, std::size_t slots) {
  std::vector<double> values = normal(draw, format, slots, 1);
  const std::size_t back = draw.below(std::min<std::size_t>(slots, 4));
  values[slots - 1 - back] =
      into_format(format, *std::max_element(values.begin(), values.end()) + short_scale(draw, 0, 4));
  return values;
}

std::vector<double> wide(Draw& draw, Format format, std::size_t slots) {
  const numerics::FormatProperties& facts = numerics::properties(format);
  std::vector<double> values;
  for (std::size_t i = 0; i < slots; ++i) {
    const int exponent = draw.between(facts.min_exponent, facts.max_exponent);
    const double magnitude = std::ldexp(1 + draw.unit(), exponent);
    values.push_back(into_format(format, draw.one_in(2) ? -magnitude : magnitude));
  }
  if (draw.one_in(4)) values[draw.below(slots)] = facts.largest;
  if (draw.one_in(4)) values[draw.below(slots)] = -facts.largest;
  return values;
}

/// Neighbouring numbers of the format: encodings of one sign and increasing magnitude are consecutive integers.
std::vector<double> near_equal(Draw& draw, Format format, std::size_t slots) {
  const numerics::FormatProperties& facts = numerics::properties(format);
  const double centre = std::clamp(short_scale(draw, -6, 10), facts.smallest_normal, facts.largest / 2);
  const std::uint64_t pattern = numerics::encode(format, into_format(format, centre));
  const std::uint64_t reach = 1 + draw.below(3);
  const bool negative = draw.one_in(2);
  std::vector<double> values;
  for (std::size_t i = 0; i < slots; ++i) {
    const double value = numerics::decode(format, pattern + draw.below(reach + 1));
    values.push_back(negative ? -value : value);
  }
  return values;
}

std::vector<double> shifted(Draw& draw, Format format, std::size_t slots) {
  const int exponent = draw.one_in(2) ? 16 : draw.between(4, 16);
  const double shift = std::ldexp(draw.one_in(2) ? -1.0 : 1.0, exponent);
  std::vector<double> values = normal(draw, format, slots, short_scale(draw, -3, 3));
  for (double& value : values) value = into_format(format, value + shift);
  return values;
}

std::vector<double> subnormal(Draw& draw, Format format, std::size_t slots) {
  const numerics::FormatProperties& facts = numerics::properties(format);
  const std::uint64_t patterns = std::uint64_t{1} << (facts.precision - 1);  // those below the smallest normal number
  std::vector<double> values;
  for (std::size_t i = 0; i < slots; ++i) {
    const double value = numerics::decode(format, draw.one_in(2) ? draw.below(4) % patterns : draw.below(patterns));
    values.push_back(value != 0 && draw.one_in(2) ? -value : value);
  }
  return values;
}

}  // namespace

double into_format(Format format, double value) {
  const double largest = numerics::properties(format).largest;
  return numerics::round_to(format, std::clamp(value, -largest, largest));
}

std::vector<double> draw_values(Draw& draw, RowFamily family, Format format, std::size_t slots) {
  switch (family) {
    case RowFamily::ramp_up:
      return ramp(draw, format, slots, true);
    case RowFamily::ramp_down:
      return ramp(draw, format, slots, false);
    case RowFamily::one_hot:
      return peak(draw, format, slots, short_scale(draw, -4, 5));
    case RowFamily::plateau:
      return std::vector<double>(slots, into_format(format, draw.one_in(2) ? 0.0 : 8 * draw.normal()));
    case RowFamily::ties:
      return ties(draw, format, slots);
    case RowFamily::late_peak:
      return late_peak(draw, format, slots);
    case RowFamily::wide:
      return wide(draw, format, slots);
    case RowFamily::near_equal:
      return near_equal(draw, format, slots);
    case RowFamily::shifted:
      return shifted(draw, format, slots);
    case RowFamily::subnormal:
      return subnormal(draw, format, slots);
    case RowFamily::sharp:
      // e^-100 times 2^20 items is below 2^-120, too small for any format's unit roundoff.
      return peak(draw, format, slots, 100 + short_scale(draw, 0, 6));
    case RowFamily::dispersing:
      return normal(draw, format, slots, short_scale(draw, -3, 1));
    case RowFamily::masked:
    case RowFamily::normal:
    case RowFamily::resolution:
    case RowFamily::far_mass:
    case RowFamily::rising:
    case RowFamily::full_sum:
    case RowFamily::two_levels:
      break;
  }
  return normal(draw, format, slots, std::ldexp(1.0, draw.between(-4, 6)));
}

}  // namespace softcheck::proptests
