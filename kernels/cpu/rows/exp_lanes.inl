// exp and sums on vectors, for the files that foreach_target compiles once per instruction set: included inside of
// each, hence the toggle instead of #pragma once.
#if defined(SOFTCHECK_KERNELS_CPU_EXP_LANES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SOFTCHECK_KERNELS_CPU_EXP_LANES_INL
#undef SOFTCHECK_KERNELS_CPU_EXP_LANES_INL
#else
#define SOFTCHECK_KERNELS_CPU_EXP_LANES_INL
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "kernels/arithmetic/exp_constants.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/rows/block_passes.hpp"

HWY_BEFORE_NAMESPACE();
namespace softcheck::kernels::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The widest vector that divides the virtual lanes of a block.
template <class T>
using Tag = hn::CappedTag<T, block_lanes<T>>;

/// w = 2^power_shift exp(z) of n vectors. The steps are interleaved, so that the vectors' dependency chains overlap
/// even where a chain is longer than the processor's window. z in [lowest, 0], or below: see vanishing. Contract
/// exp=1ulp, A: 1 (3 after a product with scale): derivation in kernels/README.md.
template <class T, class V, std::size_t n>
HWY_INLINE void scaled_exps(Tag<T> d, const V (&z)[n], V (&w)[n]) {
  using C = ExpConstants<T>;
  const hn::RebindToUnsigned<Tag<T>> bits;
  const V rounder = hn::Set(d, C::rounder);
  V rounded[n];
  V r[n];
  V q[n];
  for (std::size_t v = 0; v < n; ++v) {
    rounded[v] = hn::MulAdd(z[v], hn::Set(d, C::log2_e), rounder);
  }
  for (std::size_t v = 0; v < n; ++v) {
    const V k = hn::Sub(rounded[v], rounder);
    r[v] = hn::NegMulAdd(k, hn::Set(d, C::ln2_high), z[v]);
    r[v] = hn::NegMulAdd(k, hn::Set(d, C::ln2_low), r[v]);
    q[v] = hn::Set(d, C::q[C::degree]);
  }
  for (int i = C::degree - 1; i >= 0; --i) {
    for (std::size_t v = 0; v < n; ++v) {
      q[v] = hn::MulAdd(q[v], r[v], hn::Set(d, C::q[i]));
    }
  }
  for (std::size_t v = 0; v < n; ++v) {
    const V significand = hn::Add(hn::Set(d, T(1)), hn::MulAdd(hn::Mul(r[v], r[v]), q[v], r[v]));  // in [0.70, 1.42]
    // 2^(k + power_shift)
    const V power = hn::BitCast(d, hn::ShiftLeft<C::significand_bits>(hn::BitCast(bits, rounded[v])));
    w[v] = hn::Mul(significand, power);
  }
}

template <class T, class V>
HWY_INLINE V scaled_exp(Tag<T> d, V z) {
  const V in[1] = {z};
  V out[1];
  scaled_exps<T>(d, in, out);
  return out[0];
}

/// Clamps the argument of scaled_exp: -inf and all arguments whose weight is negligible become one finite z, for which
/// the result is 0. So neither 0 inf nor a huge k occurs.
template <class T, class V>
HWY_INLINE V bounded_below(Tag<T> d, V z) {
  return hn::Max(z, hn::Set(d, ExpConstants<T>::vanishing));
}

/// The same, and NaN if z is.
template <class T, class V>
HWY_INLINE V bounded_below_or_nan(Tag<T> d, V z) {
  const V least = hn::Set(d, ExpConstants<T>::vanishing);
#if HWY_ARCH_X86
  return hn::Max(least, z);  // maxps gives its second operand where either is NaN
#else
  return hn::IfThenElse(hn::Lt(z, least), least, z);
#endif
}

template <class T, class D, class V>
HWY_INLINE T sum_in_halves([[maybe_unused]] D d, V v) {
#if HWY_TARGET == HWY_SCALAR
  return hn::GetLane(v);
#else
  if constexpr (hn::MaxLanes(D()) * sizeof(T) > 16) {
    const hn::Half<D> half;
    return sum_in_halves<T>(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else if constexpr (sizeof(T) == 4) {
    v = hn::Add(v, hn::Shuffle1032(v));
    return hn::GetLane(hn::Add(v, hn::Shuffle2301(v)));
  } else {
    return hn::GetLane(hn::Add(v, hn::Shuffle01(v)));
  }
#endif
}

/// Virtual lane i + (i + half), until one vector has them all.
template <class T, class V, std::size_t vectors>
HWY_INLINE V sum_of_vectors(Tag<T> /*d*/, V (&sums)[vectors]) {
  for (std::size_t half = vectors / 2; half > 0; half /= 2) {
    for (std::size_t v = 0; v < half; ++v) {
      sums[v] = hn::Add(sums[v], sums[v + half]);
    }
  }
  return sums[0];
}

/// The lanes in halves: i + (i + half), down to one. Whole vectors first, then inside the last one: the same tree on
/// every width.
template <class T, class V, std::size_t vectors>
HWY_INLINE T sum_of_lanes(Tag<T> d, V (&sums)[vectors]) {
  return sum_in_halves<T>(d, sum_of_vectors<T>(d, sums));
}

}  // namespace HWY_NAMESPACE
}  // namespace softcheck::kernels::cpu
HWY_AFTER_NAMESPACE();

#endif
