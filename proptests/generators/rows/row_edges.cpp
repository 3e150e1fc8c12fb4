// Rows at the resolution of a sum, its logarithm or an exponential.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "proptests/generators/rows/row_families.hpp"

namespace softcheck::proptests {
using numerics::Format;

namespace {

/// Puts a run before, after or within the other run.
std::vector<Run> around(Draw& draw, Run few, Run many) {
  if (many.count == 0) return {few};
  const std::uint64_t before = draw.one_in(3) ? 0 : draw.one_in(2) ? many.count : draw.below(many.count + 1);
  std::vector<Run> runs;
  if (before > 0) runs.push_back({many.value, before});
  runs.push_back(few);
  if (before < many.count) runs.push_back({many.value, many.count - before});
  return runs;
}

/// -deviation * theta in the format, or a neighbouring number.
double below_zero(Draw& draw, Format format, double deviation, double theta) {
  const double value = into_format(format, -deviation * theta);
  if (value == 0 || draw.one_in(3)) return value;
  const std::uint64_t bits = numerics::encode(format, value);
  const double near = numerics::decode(format, draw.one_in(2) ? bits + 1 : bits - 1);
  return std::isfinite(near) ? near : value;
}

/// One peak, and the others where a kernel may stop counting them: at e^-12 to e^-110, or where one of them is half an
/// ulp of the sum, or the smallest normal or smallest number of a format.
std::vector<Run> resolution_runs(Draw& draw, Format format, double theta, std::uint64_t length) {
  static constexpr std::array<int, 8> powers{8, 9, 11, 24, 25, 53, 126, 149};
  double deviation = 12 + static_cast<double>(draw.below(99));
  if (draw.one_in(2)) deviation = powers[draw.below(powers.size())] * std::numbers::ln2;
  if (draw.one_in(3)) {
    const int exponent = -draw.between(4, 10);
    deviation *= 1 + std::ldexp(draw.one_in(2) ? 1.0 : -1.0, exponent);
  }
  return around(draw, {0, 1}, {below_zero(draw, format, deviation, theta), length - 1});
}

/// The peak has weight 1, all others together between 1/2 and 64.
std::vector<Run> far_mass_runs(Draw& draw, Format format, double theta, std::uint64_t length) {
  const double deviation = std::log(static_cast<double>(length)) - std::numbers::ln2 * (7 * draw.unit() - 1);
  return around(draw, {0, 1}, {below_zero(draw, format, std::max(deviation, 0.0), theta), length - 1});
}

/// Neighbouring numbers of the format, ascending; those of one sign have consecutive bits.
std::vector<Run> rising_runs(Draw& draw, Format format, std::uint64_t length) {
  const std::uint64_t steps = std::min<std::uint64_t>(length, 64);
  const int exponent = draw.between(-6, 10);
  const double centre = into_format(format, std::ldexp(1 + draw.unit(), exponent));
  const std::uint64_t last = numerics::encode(format, numerics::properties(format).largest);
  const std::uint64_t bits = std::min(numerics::encode(format, centre), last - steps);
  const bool negative = draw.one_in(2);
  std::vector<Run> runs;
  for (std::uint64_t i = 0; i < steps; ++i) {
    const double value = numerics::decode(format, negative ? bits + steps - i : bits + i);
    runs.push_back({negative ? -value : value, 1});
  }
  runs[draw.below(steps)].count += length - steps;
  return runs;
}

/// Some items at 0, and the rest so far below that S = few + many e^-deviation is near a power of two.
std::vector<Run> two_levels_runs(Draw& draw, Format format, double theta, std::uint64_t length) {
  if (length < 2) return {{0, length}};
  const int most = std::max(1, static_cast<int>(std::log2(static_cast<double>(length))));
  const double sum = std::ldexp(1.0, draw.between(1, most));
  const auto few = std::min(draw.log_uniform(1, static_cast<std::uint64_t>(sum)), length - 1);
  const double missing = std::max(sum - static_cast<double>(few), 0x1p-20);
  const double deviation = std::log(static_cast<double>(length - few) / missing);
  return around(draw, {0, few}, {below_zero(draw, format, std::max(deviation, 0.0), theta), length - few});
}

}  // namespace

bool draws_runs(RowFamily family) {
  switch (family) {
    case RowFamily::resolution:
    case RowFamily::far_mass:
    case RowFamily::rising:
    case RowFamily::full_sum:
    case RowFamily::two_levels:
      return true;
    default:
      return false;
  }
}

std::vector<std::uint64_t> full_sum_lengths() {
  // In bf16 256 + 1 is 256, in f16 2048 + 1 is 2048; a sum in f16 overflows from 65520 on.
  std::vector<std::uint64_t> lengths;
  for (const std::uint64_t edge : {256u, 2048u, 65504u, 65520u, 65536u}) {
    for (const std::uint64_t near : {edge - 1, edge, edge + 1}) lengths.push_back(near);
  }
  return lengths;
}

std::vector<Run> draw_runs(Draw& draw, RowFamily family, Format format, double theta, std::uint64_t length) {
  switch (family) {
    case RowFamily::resolution:
      return resolution_runs(draw, format, theta, length);
    case RowFamily::far_mass:
      return far_mass_runs(draw, format, theta, length);
    case RowFamily::rising:
      return rising_runs(draw, format, length);
    case RowFamily::two_levels:
      return two_levels_runs(draw, format, theta, length);
    default:
      return {{draw.one_in(2) ? 0.0 : into_format(format, 4 * draw.normal()), length}};
  }
}

}  // namespace softcheck::proptests
