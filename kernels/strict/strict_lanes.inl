// exponential() and CompensatedSum of kernels/block/ on vectors: lane i computes what thread i of the vector computes,
// with the same operations in the same order and so with the same bits. foreach_target compiles the files that include
// this one once per instruction set, hence the toggle instead of #pragma once.
#if defined(SOFTCHECK_KERNELS_STRICT_LANES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SOFTCHECK_KERNELS_STRICT_LANES_INL
#undef SOFTCHECK_KERNELS_STRICT_LANES_INL
#else
#define SOFTCHECK_KERNELS_STRICT_LANES_INL
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstddef>
#include <limits>

#include "kernels/strict/block_state.hpp"

HWY_BEFORE_NAMESPACE();
namespace softcheck::kernels::strict {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The instruction set's vectors of T, but never more than most_lanes.
template <class T>
using Tag = hn::CappedTag<T, most_lanes<T>>;
/// One vector: a number of each of as many threads.
template <class T>
using Lanes = hn::Vec<Tag<T>>;
/// Lanes of a vector.
template <class T>
inline constexpr std::size_t lanes = hn::MaxLanes(Tag<T>());

/// fused(): x y + z, rounded once on every instruction set. Where the set has no fma, libm computes the lanes one by
/// one, slowly.
template <class T>
HWY_INLINE Lanes<T> fused_lanes(Lanes<T> x, Lanes<T> y, Lanes<T> z) {
#if HWY_NATIVE_FMA
  return hn::MulAdd(x, y, z);
#else
  const Tag<T> d;
  HWY_ALIGN T a[lanes<T>], b[lanes<T>], c[lanes<T>];
  hn::Store(x, d, a);
  hn::Store(y, d, b);
  hn::Store(z, d, c);
  for (std::size_t i = 0; i < lanes<T>; ++i) c[i] = std::fma(a[i], b[i], c[i]);
  return hn::Load(d, c);
#endif
}

/// ExponentialParts.
template <class T>
struct PartsLanes {
  Lanes<T> value, rest;
};

/// scaled_exponential_parts(), with its bits and its error.
template <class T>
HWY_INLINE PartsLanes<T> scaled_exponential_parts_lanes(Lanes<T> z) {
  using C = ExpConstants<T>;
  const Tag<T> d;
  const hn::RebindToUnsigned<Tag<T>> bits;
  const Lanes<T> rounder = hn::Set(d, C::rounder);
  const Lanes<T> rounded = fused_lanes<T>(z, hn::Set(d, C::log2_e), rounder);
  const Lanes<T> k = hn::Neg(hn::Sub(rounded, rounder));
  Lanes<T> r = fused_lanes<T>(k, hn::Set(d, C::ln2_high), z);
  r = fused_lanes<T>(k, hn::Set(d, C::ln2_low), r);
  Lanes<T> q = hn::Set(d, C::q[C::degree]);
  for (int i = C::degree - 1; i >= 0; --i) q = fused_lanes<T>(q, r, hn::Set(d, C::q[i]));
  const Lanes<T> tail = fused_lanes<T>(hn::Mul(r, r), q, r);
  const Lanes<T> power = hn::BitCast(d, hn::ShiftLeft<C::significand_bits>(hn::BitCast(bits, rounded)));
  const auto counts = hn::Gt(z, hn::Set(d, C::lowest));
  const Lanes<T> one = hn::Set(d, T(1)), sum = hn::Add(one, tail);
  return {hn::IfThenElseZero(counts, hn::Mul(sum, power)),
          hn::IfThenElseZero(counts, hn::Mul(hn::Sub(tail, hn::Sub(sum, one)), power))};
}
/// scaled_exponential().
template <class T>
HWY_INLINE Lanes<T> scaled_exponential_lanes(Lanes<T> z) {
  return scaled_exponential_parts_lanes<T>(z).value;
}

/// exponential().
template <class T>
HWY_INLINE Lanes<T> exponential_lanes(Lanes<T> z) {
  return hn::Mul(scaled_exponential_lanes<T>(z), hn::Set(Tag<T>(), ExpConstants<T>::unscale));
}

/// exponential_parts().
template <class T>
HWY_INLINE PartsLanes<T> exponential_parts_lanes(Lanes<T> z) {
  const Lanes<T> unscale = hn::Set(Tag<T>(), ExpConstants<T>::unscale);
  const PartsLanes<T> scaled = scaled_exponential_parts_lanes<T>(z);
  return {hn::Mul(scaled.value, unscale), hn::Mul(scaled.rest, unscale)};
}

/// CompensatedSum.
template <class T>
struct SumLanes {
  Lanes<T> value, rest;

  HWY_INLINE void add(Lanes<T> x) {
    const Lanes<T> sum = hn::Add(value, x);
    const Lanes<T> taken = hn::Sub(sum, value);
    rest = hn::Add(rest, hn::Add(hn::Sub(value, hn::Sub(sum, taken)), hn::Sub(x, taken)));
    value = sum;
  }
  HWY_INLINE void add(const SumLanes& other) {
    add(other.value);
    rest = hn::Add(rest, other.rest);
  }
  /// CompensatedSum::scale(factor), as a value.
  HWY_INLINE SumLanes scaled(const PartsLanes<T>& factor) const {
    const Lanes<T> product = hn::Mul(value, factor.value);
    const Lanes<T> rounded = fused_lanes<T>(value, factor.value, hn::Neg(product));
    return {product, fused_lanes<T>(rest, factor.value, fused_lanes<T>(value, factor.rest, rounded))};
  }
  HWY_INLINE Lanes<T> total() const { return hn::Add(value, rest); }
};

/// The sums of threads thread to thread + lanes - 1, read and written.
template <class T>
HWY_INLINE SumLanes<T> load_sums(const BlockSums<T>& from, std::size_t thread) {
  return {hn::LoadU(Tag<T>(), from.value + thread), hn::LoadU(Tag<T>(), from.rest + thread)};
}
template <class T>
HWY_INLINE void store_sums(const SumLanes<T>& sums, BlockSums<T>& to, std::size_t thread) {
  hn::StoreU(sums.value, Tag<T>(), to.value + thread);
  hn::StoreU(sums.rest, Tag<T>(), to.rest + thread);
}

/// Sums of 0.
template <class T>
HWY_INLINE SumLanes<T> no_sums() {
  return {hn::Zero(Tag<T>()), hn::Zero(Tag<T>())};
}

/// One level of a merge tree: left gets the sums of threads 2 i, right those of threads 2 i + 1, for i = half to half +
/// lanes - 1.
template <class T>
HWY_INLINE void load_pair(const BlockSums<T>& from, std::size_t half, SumLanes<T>& left, SumLanes<T>& right) {
  const Tag<T> d;
  hn::LoadInterleaved2(d, from.value + 2 * half, left.value, right.value);
  hn::LoadInterleaved2(d, from.rest + 2 * half, left.rest, right.rest);
}

}  // namespace HWY_NAMESPACE
}  // namespace softcheck::kernels::strict
HWY_AFTER_NAMESPACE();

#endif
