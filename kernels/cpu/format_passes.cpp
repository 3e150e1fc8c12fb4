#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/format_passes.cpp"
#include <hwy/foreach_target.h>
// foreach_target comes first: it includes this file once per instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/block_passes.hpp"

HWY_BEFORE_NAMESPACE();
namespace softcheck::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// What Highway does where an instruction for it is missing makes numbers of NaN (seen with 1.0.3).
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX2
template <class D, class V>
HWY_INLINE hn::Vec<D> f16_of(D d, V half) {
  const hn::RebindToUnsigned<D> bits;
  const auto wide = hn::PromoteTo(bits, half);
  const auto magnitude = hn::And(wide, hn::Set(bits, 0x7fffu));
  // As exponent and significand of an f32, off by 2^(127 - 15): exact, subnormal halves too.
  const auto value = hn::Mul(hn::BitCast(d, hn::ShiftLeft<13>(magnitude)), hn::Set(d, 0x1p112f));
  const auto finite = hn::Lt(hn::BitCast(hn::RebindToSigned<D>(), magnitude), hn::Set(hn::RebindToSigned<D>(), 0x7c00));
  const auto special = hn::BitCast(d, hn::Or(hn::ShiftLeft<13>(magnitude), hn::Set(bits, 0x7f800000u)));
  const auto sign = hn::BitCast(d, hn::ShiftLeft<16>(hn::And(wide, hn::Set(bits, 0x8000u))));
  return hn::Or(hn::IfThenElse(hn::RebindMask(d, finite), value, special), sign);
}
#else
template <class D, class V>
HWY_INLINE hn::Vec<D> f16_of(D d, V half) {
  return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), half));
}
#endif

// Calls widen(vector of bits as u32) for whole vectors and once more for what is left, filled up with 0.
template <class Widen>
HWY_INLINE void widen_of(const std::uint16_t* in, std::size_t count, float* out, Widen widen) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<std::uint16_t, hn::ScalableTag<float>> narrow;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(widen(d, hn::LoadU(narrow, in + i)), d, out + i);
  }
  if (i < count) {
    alignas(64) std::uint16_t rest[hn::MaxLanes(hn::ScalableTag<float>())] = {};
    alignas(64) float wide[hn::MaxLanes(hn::ScalableTag<float>())];
    std::copy(in + i, in + count, rest);
    hn::Store(widen(d, hn::Load(narrow, rest)), d, wide);
    std::copy(wide, wide + (count - i), out + i);
  }
}

void WidenF16(const std::uint16_t* in, std::size_t count, float* out) {
  widen_of(in, count, out, [](auto d, auto bits) HWY_ATTR { return f16_of(d, bits); });
}
void WidenBf16(const std::uint16_t* in, std::size_t count, float* out) {
  widen_of(in, count, out, [](auto d, auto bits) HWY_ATTR {
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(hn::RebindToUnsigned<decltype(d)>(), bits)));
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace softcheck::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace softcheck::kernels {

HWY_EXPORT(WidenF16);
HWY_EXPORT(WidenBf16);

void widen_f16(const std::uint16_t* in, std::size_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(WidenF16)(in, count, out);
}
void widen_bf16(const std::uint16_t* in, std::size_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(WidenBf16)(in, count, out);
}

}  // namespace softcheck::kernels
#endif
