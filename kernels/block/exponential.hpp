#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/arithmetic/exp_constants.hpp"
#include "kernels/block/device.hpp"

namespace softcheck::kernels {

/// The polynomial q of ExpConstants from coefficient i on, by Horner's rule: one fma a degree. Each coefficient is a
/// separate constant, because device code cannot read the host's array.
template <class T, int i = 0>
SOFTCHECK_BODY T exponential_tail(T r) {
  constexpr T coefficient = arithmetic::ExpConstants<T>::q[i];
  if constexpr (i == arithmetic::ExpConstants<T>::degree) {
    return coefficient;
  } else {
    return fused(exponential_tail<T, i + 1>(r), r, coefficient);
  }
}

/// An exponential as value + rest. value is the exponential as a single number; rest is the error of its last rounding.
template <class T>
struct ExponentialParts {
  T value, rest;
};

/// exp(z) 2^power_shift, power_shift = 64 (f64: 512), so that no value that affects a result is subnormal.
///
/// z        <= 0. At and below ExpConstants::lowest, -110 (f64: -760), the result is exactly 0, as exp(z) is less than
///          half the smallest subnormal. It is 0 for NaN too: a caller that may have a NaN tests for it.
/// returns  value by the formula of ExpConstants, 2^k (1 + tail), and rest = 2^k ((1 + tail) - fl(1 + tail))
/// error    value: relative, at most 1.75 u, proved (exp_kernel_f32 and exp_kernel_f64 of theory/proofs/certified;
///          operations_are_certified of theory/proofs/strict_kernels/strict_exponential.v shows that these are the
///          operations of the first)
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
  // A selection and not a branch, which could divide the warp. Below lowest, sum and power are meaningless.
  const bool counts = z > C::lowest;
  const T sum = T(1) + tail;
  return {counts ? sum * power : T(0), counts ? (tail - (sum - T(1))) * power : T(0)};
}
/// The value of scaled_exponential_parts. The caller multiplies it by its own factor and then by unscale, so that a
/// subnormal result rounds only there (write_probabilities).
template <class T>
SOFTCHECK_BODY T scaled_exponential(T z) {
  return scaled_exponential_parts(z).value;
}

/// exp(z) for z <= 0; 0 for -inf and NaN.
///
/// error    relative, at most 1.75 u as above; where the result is subnormal, half the smallest subnormal more
template <class T>
SOFTCHECK_BODY T exponential(T z) {
  return scaled_exponential(z) * arithmetic::ExpConstants<T>::unscale;
}

/// exp(z) for z <= 0, for the caller that rescales its sums when their maximum rises by -z.
///
/// error    value: as exponential(). value + rest: little more than u |z|, relative, so that the factors of many small
///          rises err together by u times the whole rise. A row that rises slowly is rescaled thousands of times by
///          nearly the same z; the errors of values alone would add up, 1 u each time (docs/kernels/gpu_kernels.md,
///          "Rising maxima").
template <class T>
SOFTCHECK_BODY ExponentialParts<T> exponential_parts(T z) {
  const ExponentialParts<T> scaled = scaled_exponential_parts(z);
  return {scaled.value * arithmetic::ExpConstants<T>::unscale, scaled.rest * arithmetic::ExpConstants<T>::unscale};
}

}  // namespace softcheck::kernels
