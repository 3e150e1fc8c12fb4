#pragma once

#include <bit>
#include <cstdint>

#include "kernels/block/device.hpp"

namespace softcheck::kernels {

// 1/(2 i + 1) + t (1/(2 i + 3) + t ...): the series of atanh(z) / z in t = z^2.
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

/// ln(1 + s) for finite s >= 0, in double on every machine: own arithmetic, so that the bits are the same.
///
/// ln x = k ln 2 + 2 atanh((m - 1) / (m + 1)), x = 2^k m, m in [0.707, 1.415]. What 1 + s rounds away is
/// brought back through its own slope. Error at most 6 u (theory/proofs/strict_kernels/double_logarithm.v).
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
