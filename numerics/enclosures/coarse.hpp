#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "numerics/enclosures/upper_bound.hpp"

namespace softcheck::numerics {

/// The low bits that coarse() clears: 32 significant bits stay.
inline constexpr std::uint64_t coarse_mask = (std::uint64_t{1} << 21) - 1;

/// The next bound of 32 significant bits: no less, and more by at most 2^-31 of itself.
///
/// Sums of a row differ in their last bits between processors, by the width of their vectors, by fused operations and
/// by the size of long double. Behind this they are the same, unless a number of 32 bits lies between two of them: for
/// sums that differ by 2^-49 of themselves that is one row in 2^18.
inline UpperBound coarse(UpperBound x) {
  if (!(x.value() < std::numeric_limits<double>::infinity())) return x;
  const auto bits = std::bit_cast<std::uint64_t>(x.value());
  return UpperBound(std::bit_cast<double>((bits + coarse_mask) & ~coarse_mask));
}

/// The number of 32 significant bits that is no more than a finite x >= 0.
inline double coarse_below(double x) { return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & ~coarse_mask); }

}  // namespace softcheck::numerics
