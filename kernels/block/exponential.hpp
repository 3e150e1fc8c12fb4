#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/block/device.hpp"
#include "kernels/cpu/exp_constants.hpp"

namespace softcheck::kernels {

// q of ExpConstants by Horner, from coefficient i on. Each coefficient is a constant of its own: a GPU has no host's
// array.
template <class T, int i = 0>
SOFTCHECK_BODY T exponential_tail(T r) {
  constexpr T coefficient = ExpConstants<T>::q[i];
  if constexpr (i == ExpConstants<T>::degree) {
    return coefficient;
  } else {
    return fused(exponential_tail<T, i + 1>(r), r, coefficient);
  }
}

/// exp(z) 2^power_shift for z <= 0, 0 where exp(z) is below half the smallest subnormal. In that scale no value that
/// counts is subnormal. Error 1.99 u (f64: 1.94 u), the derivation for the CPU kernels' in kernels/README.md.
template <class T>
SOFTCHECK_BODY T scaled_exponential(T z) {
  using C = ExpConstants<T>;
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  const T rounded = fused(z, C::log2_e, C::rounder);
  const T k = rounded - C::rounder;
  T r = fused(-k, C::ln2_high, z);
  r = fused(-k, C::ln2_low, r);
  const T tail = fused(r * r, exponential_tail<T>(r), r);
  const T power = std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(rounded) << C::significand_bits));
  // What is computed below the lowest is not looked at: a choice, where a branch would divide a warp.
  return z > C::lowest ? (T(1) + tail) * power : T(0);
}

/// exp(z) for z <= 0.
template <class T>
SOFTCHECK_BODY T exponential(T z) {
  return scaled_exponential(z) * ExpConstants<T>::unscale;
}

}  // namespace softcheck::kernels
