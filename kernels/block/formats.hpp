#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/block/device.hpp"
#include "kernels/cpu/format_bits.hpp"

namespace softcheck::kernels {

/// The 16-bit formats by their bits: values are computed in f32.
struct Half {
  std::uint16_t bits;
};
struct BFloat {
  std::uint16_t bits;
};

/// What an element is computed in: f32 for the 16-bit formats and f32, f64 for f64.
template <class Element>
using Accumulator = std::conditional_t<std::is_same_v<std::remove_const_t<Element>, double>, double, float>;

SOFTCHECK_BODY float widened(float value) { return value; }
SOFTCHECK_BODY double widened(double value) { return value; }
SOFTCHECK_BODY float widened(BFloat value) { return bf16_to_f32(value.bits); }

#ifdef __CUDA_ARCH__
SOFTCHECK_BODY float widened(Half value) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
  return wide;
}
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
#else
SOFTCHECK_BODY float widened(Half value) { return f16_to_f32(value.bits); }
/// Rounded to nearest even.
template <class Element>
SOFTCHECK_BODY Element narrowed(Accumulator<Element> value) {
  if constexpr (std::is_same_v<Element, Half>) {
    return {f32_to_f16(value)};
  } else if constexpr (std::is_same_v<Element, BFloat>) {
    return {f32_to_bf16(value)};
  } else {
    return value;
  }
}
#endif

}  // namespace softcheck::kernels
