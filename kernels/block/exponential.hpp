#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/arithmetic/exp_constants.hpp"
#include "kernels/block/device.hpp"

namespace softcheck::kernels {

// q of ExpConstants by Horner, from coefficient i on. Each coefficient is a constant of its own: a GPU has no host's
// array.
template <class T, int i = 0>
SOFTCHECK_BODY T exponential_tail(T r) {
  constexpr T coefficient = arithmetic::ExpConstants<T>::q[i];
  if constexpr (i == arithmetic::ExpConstants<T>::degree) {
    return coefficient;
  } else {
    return fused(exponential_tail<T, i + 1>(r), r, coefficient);
  }
}

/// value + rest, rest what rounded away when the exponential was put together.
template <class T>
struct ExponentialParts {
  T value, rest;
};

/// exp(z) 2^power_shift for z <= 0, 0 where exp(z) is below half the smallest subnormal. In that scale no value that
/// counts is subnormal. Error 1.99 u (f64: 1.94 u), the derivation for the CPU kernels' in kernels/README.md.
template <class T>
SOFTCHECK_BODY ExponentialParts<T> scaled_exponential_parts(T z) {
  using C = arithmetic::ExpConstants<T>;
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  const T rounded = fused(z, C::log2_e, C::rounder);
  const T k = rounded - C::rounder;
  T r = fused(-k, C::ln2_high, z);
  r = fused(-k, C::ln2_low, r);
  const T tail = fused(r * r, exponential_tail<T>(r), r);
  const T power = std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(rounded) << C::significand_bits));
  // What is computed below the lowest is not looked at: a choice, where a branch would divide a warp.
  const bool counts = z > C::lowest;
  const T sum = T(1) + tail;
  return {counts ? sum * power : T(0), counts ? (tail - (sum - T(1))) * power : T(0)};
}
template <class T>
SOFTCHECK_BODY T scaled_exponential(T z) {
  return scaled_exponential_parts(z).value;
}

/// exp(z) for z <= 0.
template <class T>
SOFTCHECK_BODY T exponential(T z) {
  return scaled_exponential(z) * arithmetic::ExpConstants<T>::unscale;
}

/// A factor for sums that rise together with a maximum. A row that rises slowly does so thousands of times by nearly
/// the same z, and a factor wrong by 1 u every time would add up: value + rest errs by little more than u |z|, which
/// adds up to u times the rise.
template <class T>
SOFTCHECK_BODY ExponentialParts<T> exponential_parts(T z) {
  const ExponentialParts<T> scaled = scaled_exponential_parts(z);
  return {scaled.value * arithmetic::ExpConstants<T>::unscale, scaled.rest * arithmetic::ExpConstants<T>::unscale};
}

}  // namespace softcheck::kernels
