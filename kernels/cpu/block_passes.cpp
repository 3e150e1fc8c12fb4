#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/block_passes.cpp"
#include <hwy/foreach_target.h>
// foreach_target comes first: it includes this file once per instruction set.
#include <hwy/highway.h>

#include <limits>

#include "kernels/cpu/block_passes.hpp"
#include "kernels/cpu/exp_constants.hpp"

HWY_BEFORE_NAMESPACE();
namespace softcheck::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::CappedTag<T, block_lanes<T>>;

template <class V>
struct ExpParts {
  V significand;  // exp(r), in [0.70, 1.42]
  V power;        // 2^(k + power_shift)
};

// z in [lowest, 0]. Contract exp=1ulp, A: 1 (3 after a product with scale): derivation in kernels/README.md.
template <class T, class V>
HWY_INLINE ExpParts<V> exp_parts(Tag<T> d, V z) {
  using C = ExpConstants<T>;
  const hn::RebindToUnsigned<Tag<T>> bits;
  const V rounder = hn::Set(d, C::rounder);
  const V rounded = hn::MulAdd(z, hn::Set(d, C::log2_e), rounder);
  const V k = hn::Sub(rounded, rounder);
  V r = hn::NegMulAdd(k, hn::Set(d, C::ln2_high), z);
  r = hn::NegMulAdd(k, hn::Set(d, C::ln2_low), r);
  V q = hn::Set(d, C::q[C::degree]);
  for (int i = C::degree - 1; i >= 0; --i) {
    q = hn::MulAdd(q, r, hn::Set(d, C::q[i]));
  }
  const V tail = hn::MulAdd(hn::Mul(r, r), q, r);
  const V power = hn::BitCast(d, hn::ShiftLeft<C::significand_bits>(hn::BitCast(bits, rounded)));
  return {hn::Add(hn::Set(d, T(1)), tail), power};
}

template <class T, class V>
HWY_INLINE V scaled_deviation(Tag<T> d, const T* x, V m, V scale) {
  const V z = hn::Mul(hn::Sub(hn::LoadU(d, x), m), scale);
  // -inf and all that no longer counts: one finite z, so that neither 0 inf nor a huge k arises.
  return hn::Max(z, hn::Set(d, ExpConstants<T>::lowest));
}

template <class T>
HWY_INLINE T sum_of_lanes(T (&lanes)[block_lanes<T>]) {
  for (std::size_t half = block_lanes<T> / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) {
      lanes[i] += lanes[i + half];
    }
  }
  return lanes[0];
}

template <class T>
HWY_INLINE BlockMaximum<T> maximum_of(const T* x, std::size_t count) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  constexpr std::size_t width = hn::MaxLanes(Tag<T>());
  constexpr std::size_t vectors = block_lanes<T> / width;
  V best[vectors];
  hn::Mask<Tag<T>> nan = hn::MaskFromVec(hn::Zero(d));
  for (std::size_t v = 0; v < vectors; ++v) {
    best[v] = hn::Set(d, -std::numeric_limits<T>::infinity());
  }
  for (std::size_t i = 0; i < count; i += block_lanes<T>) {
    for (std::size_t v = 0; v < vectors; ++v) {
      const V value = hn::LoadU(d, x + i + v * width);
      nan = hn::Or(nan, hn::IsNaN(value));
      best[v] = hn::Max(best[v], value);
    }
  }
  for (std::size_t v = 1; v < vectors; ++v) {
    best[0] = hn::Max(best[0], best[v]);
  }
  return {hn::GetLane(hn::MaxOfLanes(d, best[0])), !hn::AllFalse(d, nan)};
}

template <class T>
HWY_INLINE BlockSums<T> sums_of(const T* x, std::size_t count, T maximum, T scale_factor) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  constexpr std::size_t width = hn::MaxLanes(Tag<T>());
  constexpr std::size_t vectors = block_lanes<T> / width;
  const V m = hn::Set(d, maximum);
  const V scale = hn::Set(d, scale_factor);
  const V lowest = hn::Set(d, ExpConstants<T>::lowest);
  V weights[vectors];
  V deviations[vectors];
  for (std::size_t v = 0; v < vectors; ++v) {
    weights[v] = hn::Zero(d);
    deviations[v] = hn::Zero(d);
  }
  for (std::size_t i = 0; i < count; i += block_lanes<T>) {
    for (std::size_t v = 0; v < vectors; ++v) {
      const V z = scaled_deviation<T>(d, x + i + v * width, m, scale);
      const ExpParts<V> e = exp_parts<T>(d, z);
      const V w = hn::IfThenElseZero(hn::Gt(z, lowest), hn::Mul(e.significand, e.power));
      weights[v] = hn::Add(weights[v], w);
      deviations[v] = hn::NegMulAdd(w, z, deviations[v]);
    }
  }
  T weight_lanes[block_lanes<T>];
  T deviation_lanes[block_lanes<T>];
  for (std::size_t v = 0; v < vectors; ++v) {
    hn::StoreU(weights[v], d, weight_lanes + v * width);
    hn::StoreU(deviations[v], d, deviation_lanes + v * width);
  }
  return {sum_of_lanes<T>(weight_lanes), sum_of_lanes<T>(deviation_lanes)};
}

template <class T>
HWY_INLINE void exp_of(const T* x, std::size_t count, T maximum, T scale_factor, T factor, T* out) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  const V m = hn::Set(d, maximum);
  const V scale = hn::Set(d, scale_factor);
  const V times = hn::Set(d, factor);
  const V unscale = hn::Set(d, ExpConstants<T>::unscale);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const ExpParts<V> e = exp_parts<T>(d, scaled_deviation<T>(d, x + i, m, scale));
    hn::StoreU(hn::Mul(hn::Mul(hn::Mul(e.significand, times), e.power), unscale), d, out + i);
  }
}

template <class T>
HWY_INLINE void shift_of(const T* x, std::size_t count, T maximum, T scale_factor, T shift, T* out) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  const V m = hn::Set(d, maximum);
  const V scale = hn::Set(d, scale_factor);
  const V less = hn::Set(d, shift);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::StoreU(hn::Sub(hn::Mul(hn::Sub(hn::LoadU(d, x + i), m), scale), less), d, out + i);
  }
}

// One plain function per pass and type: what the dispatch table can point to.
BlockMaximum<float> Maximum32(const float* x, std::size_t count) { return maximum_of<float>(x, count); }
BlockMaximum<double> Maximum64(const double* x, std::size_t count) { return maximum_of<double>(x, count); }
BlockSums<float> Sums32(const float* x, std::size_t count, float m, float scale) {
  return sums_of<float>(x, count, m, scale);
}
BlockSums<double> Sums64(const double* x, std::size_t count, double m, double scale) {
  return sums_of<double>(x, count, m, scale);
}
void Exp32(const float* x, std::size_t count, float m, float scale, float factor, float* out) {
  exp_of<float>(x, count, m, scale, factor, out);
}
void Exp64(const double* x, std::size_t count, double m, double scale, double factor, double* out) {
  exp_of<double>(x, count, m, scale, factor, out);
}
void Shift32(const float* x, std::size_t count, float m, float scale, float shift, float* out) {
  shift_of<float>(x, count, m, scale, shift, out);
}
void Shift64(const double* x, std::size_t count, double m, double scale, double shift, double* out) {
  shift_of<double>(x, count, m, scale, shift, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace softcheck::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace softcheck::kernels {

HWY_EXPORT(Maximum32);
HWY_EXPORT(Maximum64);
HWY_EXPORT(Sums32);
HWY_EXPORT(Sums64);
HWY_EXPORT(Exp32);
HWY_EXPORT(Exp64);
HWY_EXPORT(Shift32);
HWY_EXPORT(Shift64);

BlockMaximum<float> block_maximum(const float* x, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(Maximum32)(x, count);
}
BlockMaximum<double> block_maximum(const double* x, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(Maximum64)(x, count);
}
BlockSums<float> block_sums(const float* x, std::size_t count, float m, float scale) {
  return HWY_DYNAMIC_DISPATCH(Sums32)(x, count, m, scale);
}
BlockSums<double> block_sums(const double* x, std::size_t count, double m, double scale) {
  return HWY_DYNAMIC_DISPATCH(Sums64)(x, count, m, scale);
}
void block_exp(const float* x, std::size_t count, float m, float scale, float factor, float* out) {
  HWY_DYNAMIC_DISPATCH(Exp32)(x, count, m, scale, factor, out);
}
void block_exp(const double* x, std::size_t count, double m, double scale, double factor, double* out) {
  HWY_DYNAMIC_DISPATCH(Exp64)(x, count, m, scale, factor, out);
}
void block_shift(const float* x, std::size_t count, float m, float scale, float shift, float* out) {
  HWY_DYNAMIC_DISPATCH(Shift32)(x, count, m, scale, shift, out);
}
void block_shift(const double* x, std::size_t count, double m, double scale, double shift, double* out) {
  HWY_DYNAMIC_DISPATCH(Shift64)(x, count, m, scale, shift, out);
}

}  // namespace softcheck::kernels
#endif
