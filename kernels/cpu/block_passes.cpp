#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/block_passes.cpp"
#include <hwy/foreach_target.h>
// foreach_target comes first: it includes this file once per instruction set.
#include <hwy/highway.h>

#include <cstddef>
#include <limits>

#include "kernels/cpu/block_passes.hpp"
#include "kernels/cpu/exp_constants.hpp"
#include "kernels/cpu/exp_lanes.inl"

HWY_BEFORE_NAMESPACE();
namespace softcheck::kernels {
namespace HWY_NAMESPACE {

template <class T, class V>
HWY_INLINE V scaled_deviation(Tag<T> d, const T* x, V m, V scale) {
  const V z = hn::Mul(hn::Sub(hn::LoadU(d, x), m), scale);
  // -inf and all that no longer counts: one finite z, so that neither 0 inf nor a huge k arises.
  return hn::Max(z, hn::Set(d, ExpConstants<T>::lowest));
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
HWY_INLINE std::size_t place_of(const T* x, std::size_t count, T value) {
  const Tag<T> d;
  const hn::Vec<Tag<T>> wanted = hn::Set(d, value);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const std::ptrdiff_t lane = hn::FindFirstTrue(d, hn::Eq(hn::LoadU(d, x + i), wanted));
    if (lane >= 0) {
      return i + static_cast<std::size_t>(lane);
    }
  }
  return count;
}

// The weights of one vector. Where the block holds the maximum that is left out, its weight is set to 0.
template <bool leaves_out, class T, class V>
HWY_INLINE V weights_from(Tag<T> d, V z, std::size_t place, std::size_t left_out) {
  const V w = scaled_exp<T>(d, z);
  if (leaves_out) {
    return hn::IfThenZeroElse(hn::Eq(hn::Iota(d, static_cast<T>(place)), hn::Set(d, static_cast<T>(left_out))), w);
  }
  return w;
}

template <bool leaves_out, class T>
HWY_INLINE BlockSums<T> sums_of(const T* x, std::size_t count, T maximum, T scale_factor, std::size_t left_out) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  constexpr std::size_t width = hn::MaxLanes(Tag<T>());
  constexpr std::size_t vectors = block_lanes<T> / width;
  const V m = hn::Set(d, maximum);
  const V scale = hn::Set(d, scale_factor);
  V weights[vectors];
  V deviations[vectors];
  for (std::size_t v = 0; v < vectors; ++v) {
    weights[v] = hn::Zero(d);
    deviations[v] = hn::Zero(d);
  }
  for (std::size_t i = 0; i < count; i += block_lanes<T>) {
    for (std::size_t v = 0; v < vectors; ++v) {
      const V z = scaled_deviation<T>(d, x + i + v * width, m, scale);
      const V w = weights_from<leaves_out, T>(d, z, i + v * width, left_out);
      weights[v] = hn::Add(weights[v], w);
      deviations[v] = hn::NegMulAdd(w, z, deviations[v]);
    }
  }
  return {sum_of_lanes<T>(d, weights), sum_of_lanes<T>(d, deviations)};
}

template <bool leaves_out, class T>
HWY_INLINE T weights_of(const T* x, std::size_t count, T maximum, T scale_factor, std::size_t left_out, T* out) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  constexpr std::size_t width = hn::MaxLanes(Tag<T>());
  constexpr std::size_t vectors = block_lanes<T> / width;
  const V m = hn::Set(d, maximum);
  const V scale = hn::Set(d, scale_factor);
  V weights[vectors];
  for (std::size_t v = 0; v < vectors; ++v) {
    weights[v] = hn::Zero(d);
  }
  for (std::size_t i = 0; i < count; i += block_lanes<T>) {
    for (std::size_t v = 0; v < vectors; ++v) {
      const V z = scaled_deviation<T>(d, x + i + v * width, m, scale);
      const V w = weights_from<leaves_out, T>(d, z, i + v * width, left_out);
      weights[v] = hn::Add(weights[v], w);
      hn::StoreU(w, d, out + i + v * width);
    }
  }
  return sum_of_lanes<T>(d, weights);
}

template <class T>
HWY_INLINE void normalize_of(const T* weights, std::size_t count, T factor, T* out) {
  const Tag<T> d;
  const hn::Vec<Tag<T>> times = hn::Set(d, factor);
  const hn::Vec<Tag<T>> unscale = hn::Set(d, ExpConstants<T>::unscale);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::StoreU(hn::Mul(hn::Mul(hn::LoadU(d, weights + i), times), unscale), d, out + i);
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
std::size_t Find32(const float* x, std::size_t count, float value) { return place_of<float>(x, count, value); }
std::size_t Find64(const double* x, std::size_t count, double value) { return place_of<double>(x, count, value); }
BlockSums<float> Sums32(const float* x, std::size_t count, float m, float scale, std::size_t left_out) {
  return left_out < count ? sums_of<true, float>(x, count, m, scale, left_out)
                          : sums_of<false, float>(x, count, m, scale, left_out);
}
BlockSums<double> Sums64(const double* x, std::size_t count, double m, double scale, std::size_t left_out) {
  return left_out < count ? sums_of<true, double>(x, count, m, scale, left_out)
                          : sums_of<false, double>(x, count, m, scale, left_out);
}
float Weights32(const float* x, std::size_t count, float m, float scale, std::size_t left_out, float* out) {
  return left_out < count ? weights_of<true, float>(x, count, m, scale, left_out, out)
                          : weights_of<false, float>(x, count, m, scale, left_out, out);
}
double Weights64(const double* x, std::size_t count, double m, double scale, std::size_t left_out, double* out) {
  return left_out < count ? weights_of<true, double>(x, count, m, scale, left_out, out)
                          : weights_of<false, double>(x, count, m, scale, left_out, out);
}
void Normalize32(const float* weights, std::size_t count, float factor, float* out) {
  normalize_of<float>(weights, count, factor, out);
}
void Normalize64(const double* weights, std::size_t count, double factor, double* out) {
  normalize_of<double>(weights, count, factor, out);
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
HWY_EXPORT(Find32);
HWY_EXPORT(Find64);
HWY_EXPORT(Sums32);
HWY_EXPORT(Sums64);
HWY_EXPORT(Weights32);
HWY_EXPORT(Weights64);
HWY_EXPORT(Normalize32);
HWY_EXPORT(Normalize64);
HWY_EXPORT(Shift32);
HWY_EXPORT(Shift64);

BlockMaximum<float> block_maximum(const float* x, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(Maximum32)(x, count);
}
BlockMaximum<double> block_maximum(const double* x, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(Maximum64)(x, count);
}
std::size_t block_find(const float* x, std::size_t count, float value) {
  return HWY_DYNAMIC_DISPATCH(Find32)(x, count, value);
}
std::size_t block_find(const double* x, std::size_t count, double value) {
  return HWY_DYNAMIC_DISPATCH(Find64)(x, count, value);
}
BlockSums<float> block_sums(const float* x, std::size_t count, float m, float scale, std::size_t left_out) {
  return HWY_DYNAMIC_DISPATCH(Sums32)(x, count, m, scale, left_out);
}
BlockSums<double> block_sums(const double* x, std::size_t count, double m, double scale, std::size_t left_out) {
  return HWY_DYNAMIC_DISPATCH(Sums64)(x, count, m, scale, left_out);
}
float block_weights(const float* x, std::size_t count, float m, float scale, std::size_t left_out, float* out) {
  return HWY_DYNAMIC_DISPATCH(Weights32)(x, count, m, scale, left_out, out);
}
double block_weights(const double* x, std::size_t count, double m, double scale, std::size_t left_out, double* out) {
  return HWY_DYNAMIC_DISPATCH(Weights64)(x, count, m, scale, left_out, out);
}
void block_normalize(const float* weights, std::size_t count, float factor, float* out) {
  HWY_DYNAMIC_DISPATCH(Normalize32)(weights, count, factor, out);
}
void block_normalize(const double* weights, std::size_t count, double factor, double* out) {
  HWY_DYNAMIC_DISPATCH(Normalize64)(weights, count, factor, out);
}
void block_shift(const float* x, std::size_t count, float m, float scale, float shift, float* out) {
  HWY_DYNAMIC_DISPATCH(Shift32)(x, count, m, scale, shift, out);
}
void block_shift(const double* x, std::size_t count, double m, double scale, double shift, double* out) {
  HWY_DYNAMIC_DISPATCH(Shift64)(x, count, m, scale, shift, out);
}

}  // namespace softcheck::kernels
#endif
