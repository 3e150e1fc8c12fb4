#pragma once

#include <bit>
#include <cstdint>

#include "kernels/block/device.hpp"

namespace softcheck::kernels {

/// 1/(2 i + 1) + t (1/(2 i + 3) + t ...), up to i = 11: the series of atanh(z) / z in t = z^2, without its first i
/// terms.
template <int i>
SOFTCHECK_BODY double atanh_series(double t) {
  constexpr double coefficient = 1.0 / (2 * i + 1);
  // t <= 0.0295 below: the first term left out is below 0.0295^12 / 25 < 2^-65.
  if constexpr (i == 11) {
    return coefficient;
  } else {
    return fused(atanh_series<i + 1>(t), t, coefficient);
  }
}

/// ln(1 + s), in double on every machine. It calls no library, so that the bits are the same on both machines.
///
/// Below s = 1/4, 2 atanh(s / (2 + s)). From there on, ln x = k ln 2 + 2 atanh((m - 1) / (m + 1)) with x = 1 + s = 2^k
/// m and m in [0.707, 1.415]; rest / x adds what 1 + s rounded away.
///
/// s        finite, >= 0
/// error    relative, at most 6 u, u = 2^-53: proved for s = 0 and 2^-280 <= s <= 2^60 (logarithm_computed of
///          theory/proofs/strict_kernels/double_logarithm.v)
SOFTCHECK_BODY double logarithm_of_one_plus(double s) {
  if (s < 0.25) {
    const double z = s / (2 + s);
    const double t = z * z;
    return fused(2 * z * t, atanh_series<1>(t), 2 * z);
  }
  constexpr double ln2 = 0x1.62e42fefa39efp-1;
  const double x = 1 + s;
  const double high = s > 1 ? s : 1, low = s > 1 ? 1 : s;
  const double rest = low - (x - high);
  constexpr std::uint64_t half_root = 0x3fe6a09e667f3bcdULL;  // sqrt(1/2)
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  const std::int64_t k = static_cast<std::int64_t>(bits - half_root) >> 52;
  const double m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(k) << 52));
  const double z = (m - 1) / (m + 1);
  const double t = z * z;
  const double of_m = fused(2 * z * t, atanh_series<1>(t), 2 * z);
  return fused(static_cast<double>(k), ln2, of_m + rest / x);
}

}  // namespace softcheck::kernels
