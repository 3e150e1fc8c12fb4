#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/arithmetic/format_bits.hpp"
#include "kernels/block/device.hpp"

namespace softcheck::kernels {

/// An element of IEEE binary16 (f16), as its bits. The bodies widen it to f32 and compute there.
struct Half {
  std::uint16_t bits;
};
/// An element of bf16, the upper half of an f32, as its bits.
struct BFloat {
  std::uint16_t bits;
};

/// The format that a body computes in: f32 for elements of f16, bf16 and f32; f64 for f64.
template <class Element>
using Accumulator = std::conditional_t<std::is_same_v<std::remove_const_t<Element>, double>, double, float>;

/// The element in its accumulator's format, exactly.
SOFTCHECK_BODY float widened(float value) { return value; }
SOFTCHECK_BODY double widened(double value) { return value; }
SOFTCHECK_BODY float widened(BFloat value) { return arithmetic::bf16_to_f32(value.bits); }

/// The exponent bits of a 16-bit format, which infinities and NaN have all set.
template <class Element>
inline constexpr std::uint32_t largest_exponent = std::is_same_v<Element, Half> ? 0x7c00U : 0x7f80U;

/// Whether a 16-bit element is neither infinite nor NaN.
template <class Element>
SOFTCHECK_BODY bool is_finite(Element value) {
  return (value.bits & largest_exponent<Element>) != largest_exponent<Element>;
}
/// is_finite of both 16-bit elements of a word.
template <class Element>
SOFTCHECK_BODY bool both_finite(std::uint32_t pair) {
  constexpr std::uint32_t low = largest_exponent<Element>, high = low << 16;
  return (pair & low) != low && (pair & high) != high;
}

#ifdef __CUDA_ARCH__
SOFTCHECK_BODY float widened(Half value) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
  return wide;
}
/// value rounded to nearest even in the element's format: a relative error of at most 2^-11 (f16) or 2^-8 (bf16), none
/// for f32 and f64. Beyond the largest number it is infinite.
template <class Element>
SOFTCHECK_BODY Element narrowed(Accumulator<Element> value) {
  if constexpr (std::is_same_v<Element, Half>) {
    Half narrow;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(value));
    return narrow;
  } else if constexpr (std::is_same_v<Element, BFloat>) {
    BFloat narrow;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(value));
    return narrow;
  } else {
    return value;
  }
}
/// Two values narrowed to a 16-bit format, in one word: low in its lower half, high in its upper half.
template <class Element>
SOFTCHECK_BODY std::uint32_t narrowed_pair(float low, float high) {
  std::uint32_t both;
  if constexpr (std::is_same_v<Element, Half>) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  }
  return both;
}
#else
SOFTCHECK_BODY float widened(Half value) { return arithmetic::f16_to_f32(value.bits); }
template <class Element>
SOFTCHECK_BODY Element narrowed(Accumulator<Element> value) {
  if constexpr (std::is_same_v<Element, Half>) {
    return {arithmetic::f32_to_f16(value)};
  } else if constexpr (std::is_same_v<Element, BFloat>) {
    return {arithmetic::f32_to_bf16(value)};
  } else {
    return value;
  }
}
template <class Element>
SOFTCHECK_BODY std::uint32_t narrowed_pair(float low, float high) {
  return static_cast<std::uint32_t>(narrowed<Element>(low).bits) |
         static_cast<std::uint32_t>(narrowed<Element>(high).bits) << 16;
}
#endif

}  // namespace softcheck::kernels
