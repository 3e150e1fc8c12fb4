// tanh on vectors, for the files that foreach_target compiles once per instruction set: see exp_lanes.inl.
#if defined(SOFTCHECK_KERNELS_CPU_TANH_LANES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SOFTCHECK_KERNELS_CPU_TANH_LANES_INL
#undef SOFTCHECK_KERNELS_CPU_TANH_LANES_INL
#else
#define SOFTCHECK_KERNELS_CPU_TANH_LANES_INL
#endif

#include <hwy/highway.h>

#include "kernels/arithmetic/exp_constants.hpp"
#include "kernels/cpu/rows/exp_lanes.inl"
#include "kernels/cpu/machine.hpp"

HWY_BEFORE_NAMESPACE();
namespace softcheck::kernels::cpu {
namespace HWY_NAMESPACE {

/// tanh(x) = -g / (2 + g) with g = exp(-2 |x|) - 1, the sign of x; NaN of NaN. g is 2^k f + (2^k - 1) with
/// f = exp(r) - 1 from exp's polynomial, so that g keeps its relative accuracy where x is small: there k = 0.
/// Contract tanh=3ulp: derivation in docs/kernels/attention.md.
template <class T, class V>
HWY_INLINE V tanh_of(Tag<T> d, V x) {
  using C = ExpConstants<T>;
  const hn::RebindToUnsigned<Tag<T>> bits;
  const V rounder = hn::Set(d, C::rounder);
  const V z = bounded_below_or_nan<T>(d, hn::Mul(hn::Abs(x), hn::Set(d, T(-2))));
  const V rounded = hn::MulAdd(z, hn::Set(d, C::log2_e), rounder);
  const V k = hn::Sub(rounded, rounder);
  const V r = hn::NegMulAdd(k, hn::Set(d, C::ln2_low), hn::NegMulAdd(k, hn::Set(d, C::ln2_high), z));
  V q = hn::Set(d, C::q[C::degree]);
  for (int i = C::degree - 1; i >= 0; --i) {
    q = hn::MulAdd(q, r, hn::Set(d, C::q[i]));
  }
  const V f = hn::MulAdd(hn::Mul(r, r), q, r);
  // 2^(k + power_shift), brought back to scale without a rounding where it counts.
  const V shifted = hn::BitCast(d, hn::ShiftLeft<C::significand_bits>(hn::BitCast(bits, rounded)));
  const V power = hn::Mul(shifted, hn::Set(d, C::unscale));
  const V g = hn::MulAdd(power, f, hn::Sub(power, hn::Set(d, T(1))));
  return hn::CopySign(hn::Div(g, hn::Add(hn::Set(d, T(2)), g)), x);
}

}  // namespace HWY_NAMESPACE
}  // namespace softcheck::kernels::cpu
HWY_AFTER_NAMESPACE();

#endif
