#include "proptests/generators/attention/attention_heights.hpp"

#include <algorithm>
#include <cmath>

#include "proptests/generators/rows/row_families.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;

RowFamily row_family(Scores scores) {
  static constexpr RowFamily families[] = {RowFamily::ramp_up,    RowFamily::ramp_down, RowFamily::one_hot,
                                           RowFamily::plateau,    RowFamily::ties,      RowFamily::late_peak,
                                           RowFamily::near_equal, RowFamily::shifted,   RowFamily::normal,
                                           RowFamily::sharp,      RowFamily::dispersing};
  return families[static_cast<std::size_t>(scores)];
}

// 0 at one key and -depth at the others, with some jitter.
std::vector<double> peak_above(Draw& draw, Format format, std::size_t keys, double depth) {
  const double jitter = draw.one_in(2) ? 0 : 0x1p-4;
  std::vector<double> heights;
  for (std::size_t j = 0; j < keys; ++j) heights.push_back(into_format(format, -depth - jitter * draw.unit()));
  heights[draw.below(keys)] = 0;
  return heights;
}

// A depth at which the sum loses a term, or its logarithm does, or where kernels may cut off.
double depth_at_resolution(Draw& draw, Format format) {
  const double unit = numerics::properties(format).unit_roundoff;
  const double side = 0.25 * draw.normal();
  switch (draw.below(4)) {
    case 0:
      return -std::log(unit) + side;
    case 1:
      return -std::log(0x1p-24) + side;
    case 2:
      return 12 + 5 * draw.unit();
    default:
      return 12 + 98 * draw.unit();
  }
}

std::vector<double> rising(Draw& draw, Format format, std::size_t keys) {
  const int exponent = draw.between(-2, 3);
  const double start = std::ldexp(1 + draw.unit(), exponent);
  const std::uint64_t first = numerics::encode(format, into_format(format, start));
  // An 8-bit format may have fewer numbers up to its largest one.
  const std::uint64_t last = numerics::encode(format, numerics::properties(format).largest);
  const std::uint64_t count = std::min<std::uint64_t>(4096, last - first + 1);
  std::vector<double> heights;
  for (std::size_t j = 0; j < keys; ++j) heights.push_back(numerics::decode(format, first + j % count));
  return heights;
}

// Some keys at the top, and the others at a depth where the sum is 2^k, or at the format's next number.
std::vector<double> two_levels(Draw& draw, Format format, std::size_t keys) {
  if (keys < 3) return std::vector<double>(keys, 0);
  const int power = draw.between(1, static_cast<int>(std::log2(static_cast<double>(keys - 1))));
  const auto whole = std::size_t{1} << power;
  const std::size_t top = whole - 1 - draw.below(std::max<std::size_t>(1, whole / 2));
  const double low = std::log(static_cast<double>(whole - top) / static_cast<double>(keys - top));
  const std::uint64_t pattern = numerics::encode(format, into_format(format, -low));
  const double depth = numerics::decode(format, pattern + draw.below(3) - (pattern == 0 ? 0 : 1));
  std::vector<double> heights(keys, -depth);
  for (std::size_t j = 0; j < top; ++j) heights[j] = 0;
  for (std::size_t j = keys; j > 1; --j) std::swap(heights[j - 1], heights[draw.below(j)]);
  return heights;
}

}  // namespace

const char* name_of(Scores scores) {
  static constexpr const char* names[] = {"ramp_up",    "ramp_down",   "one_hot",    "plateau",  "ties",
                                          "late_peak",  "near_equal",  "shifted",    "normal",   "sharp",
                                          "dispersing", "large",       "resolution", "far_mass", "rising",
                                          "two_levels", "independent", "independent"};
  return names[static_cast<std::size_t>(scores)];
}

std::vector<double> heights_of(Draw& draw, Scores scores, Format format, std::size_t keys) {
  switch (scores) {
    case Scores::at_resolution:
      return peak_above(draw, format, keys, depth_at_resolution(draw, format));
    case Scores::far_mass:
      return peak_above(draw, format, keys, std::max(0.0, std::log(static_cast<double>(keys)) - 4 * draw.unit()));
    case Scores::rising:
      return rising(draw, format, keys);
    case Scores::two_levels:
      return two_levels(draw, format, keys);
    case Scores::large: {
      std::vector<double> heights;
      for (std::size_t j = 0; j < keys; ++j) heights.push_back(into_format(format, std::round(1e4 * draw.normal())));
      return heights;
    }
    default:
      return draw_values(draw, row_family(scores), format, keys);
  }
}

}  // namespace softcheck::proptests
