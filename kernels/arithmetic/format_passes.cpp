#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/arithmetic/format_passes.cpp"
#include <hwy/foreach_target.h>
// foreach_target comes first: it includes this file once per instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/arithmetic/format_passes.hpp"

HWY_BEFORE_NAMESPACE();
namespace softcheck::kernels::arithmetic {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::ScalableTag<float>;
using Bits = hn::RebindToUnsigned<Wide>;
using Narrow = hn::Rebind<std::uint16_t, Wide>;
using Words = hn::Vec<Bits>;

// F16C rounds to nearest even in every rounding mode, and keeps the upper bits of a NaN's payload, as f32_to_f16()
// does. Other targets use integers, because Highway 1.0.3 without such an instruction turns NaN into numbers.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)
#define SOFTCHECK_HAS_F16C 1
#else
#define SOFTCHECK_HAS_F16C 0
#endif

using HalfWords = hn::Vec<Narrow>;

#if SOFTCHECK_HAS_F16C
using Half = hn::Rebind<hwy::float16_t, Wide>;

HWY_INLINE hn::Vec<Wide> f16_widened(HalfWords half) { return hn::PromoteTo(Wide(), hn::BitCast(Half(), half)); }
HWY_INLINE HalfWords f16_narrowed(hn::Vec<Wide> x) { return hn::BitCast(Narrow(), hn::DemoteTo(Half(), x)); }
#else
HWY_INLINE hn::Vec<Wide> f16_widened(HalfWords half) {
  const Bits d;
  const Wide wide;
  const Words bits = hn::PromoteTo(d, half);
  const Words magnitude = hn::And(bits, hn::Set(d, 0x7fffu));
  // As exponent and significand of an f32, off by 2^(127 - 15): exact, subnormal halves too.
  const auto value = hn::Mul(hn::BitCast(wide, hn::ShiftLeft<13>(magnitude)), hn::Set(wide, 0x1p112f));
  const auto special = hn::BitCast(wide, hn::Or(hn::ShiftLeft<13>(magnitude), hn::Set(d, 0x7f800000u)));
  const auto finite = hn::RebindMask(wide, hn::Lt(magnitude, hn::Set(d, 0x7c00u)));
  const auto sign = hn::BitCast(wide, hn::ShiftLeft<16>(hn::And(bits, hn::Set(d, 0x8000u))));
  return hn::Or(hn::IfThenElse(finite, value, special), sign);
}

HWY_INLINE HalfWords f16_narrowed(hn::Vec<Wide> x) {
  const Bits d;
  const Wide wide;
  const Words bits = hn::BitCast(d, x);
  const Words magnitude = hn::And(bits, hn::Set(d, 0x7fffffffu));
  // Normal: from the exponent's bias of f32 to that of f16.
  const Words rebased = hn::Sub(magnitude, hn::Set(d, (127u - 15u) << 23));
  const Words odd = hn::And(hn::ShiftRight<13>(rebased), hn::Set(d, 1u));
  Words half = hn::ShiftRight<13>(hn::Add(hn::Add(rebased, hn::Set(d, 0xfffu)), odd));
  // Subnormal: adding 1/2 puts the wanted last bit at f32's last bit, so that the addition rounds.
  const Words shifted = hn::BitCast(d, hn::Add(hn::BitCast(wide, magnitude), hn::Set(wide, 0.5f)));
  half = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0x38800000u)), hn::Sub(shifted, hn::Set(d, 0x3f000000u)), half);
  half = hn::IfThenElse(hn::Lt(hn::Set(d, 0x477fefffu), magnitude), hn::Set(d, 0x7c00u), half);
  const Words nan = hn::Or(hn::Set(d, 0x7e00u), hn::And(hn::ShiftRight<13>(magnitude), hn::Set(d, 0x3ffu)));
  half = hn::IfThenElse(hn::Lt(hn::Set(d, 0x7f800000u), magnitude), nan, half);
  return hn::TruncateTo(Narrow(), hn::Or(half, hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 0x8000u))));
}
#endif

// Calls convert(from, to) for whole vectors, and once more for the rest, padded with 0.
template <class In, class Out, class Convert>
HWY_INLINE void each_vector(const In* in, std::size_t count, Out* out, Convert convert) {
  constexpr std::size_t lanes = hn::MaxLanes(Wide());
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    convert(in + i, out + i);
  }
  if (i < count) {
    alignas(64) In rest[lanes] = {};
    alignas(64) Out results[lanes];
    std::copy(in + i, in + count, rest);
    convert(rest, results);
    std::copy(results, results + (count - i), out + i);
  }
}

HWY_INLINE Words bf16_rounded(Words bits) {
  const Bits d;
  const Words odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1u));
  const Words rounded = hn::Add(hn::Add(bits, hn::Set(d, 0x7fffu)), odd);
  const auto is_nan = hn::Lt(hn::Set(d, 0x7f800000u), hn::And(bits, hn::Set(d, 0x7fffffffu)));
  return hn::ShiftRight<16>(hn::IfThenElse(is_nan, hn::Or(bits, hn::Set(d, 0x400000u)), rounded));
}

void WidenF16(const std::uint16_t* in, std::size_t count, float* out) {
  each_vector(in, count, out, [](const std::uint16_t* from, float* to) HWY_ATTR {
    hn::StoreU(f16_widened(hn::LoadU(Narrow(), from)), Wide(), to);
  });
}
void WidenBf16(const std::uint16_t* in, std::size_t count, float* out) {
  each_vector(in, count, out, [](const std::uint16_t* from, float* to) HWY_ATTR {
    const Words wide = hn::ShiftLeft<16>(hn::PromoteTo(Bits(), hn::LoadU(Narrow(), from)));
    hn::StoreU(hn::BitCast(Wide(), wide), Wide(), to);
  });
}
void NarrowF16(const float* in, std::size_t count, std::uint16_t* out) {
  each_vector(in, count, out, [](const float* from, std::uint16_t* to) HWY_ATTR {
    hn::StoreU(f16_narrowed(hn::LoadU(Wide(), from)), Narrow(), to);
  });
}
void NarrowBf16(const float* in, std::size_t count, std::uint16_t* out) {
  each_vector(in, count, out, [](const float* from, std::uint16_t* to) HWY_ATTR {
    hn::StoreU(hn::TruncateTo(Narrow(), bf16_rounded(hn::BitCast(Bits(), hn::LoadU(Wide(), from)))), Narrow(), to);
  });
}

#undef SOFTCHECK_HAS_F16C

}  // namespace HWY_NAMESPACE
}  // namespace softcheck::kernels::arithmetic
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace softcheck::kernels::arithmetic {

HWY_EXPORT(WidenF16);
HWY_EXPORT(WidenBf16);
HWY_EXPORT(NarrowF16);
HWY_EXPORT(NarrowBf16);

void widen_f16(const std::uint16_t* in, std::size_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(WidenF16)(in, count, out);
}
void widen_bf16(const std::uint16_t* in, std::size_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(WidenBf16)(in, count, out);
}
void narrow_f16(const float* in, std::size_t count, std::uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(NarrowF16)(in, count, out);
}
void narrow_bf16(const float* in, std::size_t count, std::uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(NarrowBf16)(in, count, out);
}

}  // namespace softcheck::kernels::arithmetic
#endif
