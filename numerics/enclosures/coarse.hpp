#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "numerics/enclosures/upper_bound.hpp"

namespace softcheck::numerics {

/// The low bits that coarse() clears; 32 significant bits remain.
inline constexpr std::uint64_t coarse_mask = (std::uint64_t{1} << 21) - 1;

/// The next bound with 32 significant bits, larger by at most 2^-31 relative.
///
/// The last bits of a row's sums depend on the processor: on its vector width, fused operations and the size of long
/// double. After this rounding they are equal, unless a number of 32 bits lies between two of them: for sums that
/// differ by 2^-49 relative, in one row of 2^18.
inline UpperBound coarse(UpperBound x) {
  if (!(x.value() < std::numeric_limits<double>::infinity())) return x;
  const auto bits = std::bit_cast<std::uint64_t>(x.value());
  return UpperBound(std::bit_cast<double>((bits + coarse_mask) & ~coarse_mask));
}

/// The largest number with 32 significant bits that is at most x, for finite x >= 0.
inline double coarse_below(double x) { return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & ~coarse_mask); }

}  // namespace softcheck::numerics
