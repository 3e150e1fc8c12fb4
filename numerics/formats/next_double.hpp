#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace softcheck::numerics {

/// The smallest double above x; infinity and NaN stay. Like std::nextafter(x, infinity), but inline, since it is needed
/// for each item of a row.
inline double next_above(double x) {
  if (!(x < std::numeric_limits<double>::infinity())) return x;
  if (x == 0) return std::numeric_limits<double>::denorm_min();
  const auto bits = std::bit_cast<std::uint64_t>(x);
  return std::bit_cast<double>(x > 0 ? bits + 1 : bits - 1);
}

/// The largest double below x; -infinity and NaN stay.
inline double next_below(double x) { return -next_above(-x); }

}  // namespace softcheck::numerics
