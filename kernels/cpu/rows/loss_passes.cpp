#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rows/loss_passes.cpp"
#include <hwy/foreach_target.h>
// foreach_target comes first: it includes this file once per instruction set.
#include <hwy/highway.h>

#include <cstddef>

#include "kernels/arithmetic/exp_constants.hpp"
#include "kernels/cpu/rows/block_passes.hpp"
#include "kernels/cpu/rows/exp_lanes.inl"
#include "kernels/cpu/rows/loss_passes.hpp"

HWY_BEFORE_NAMESPACE();
namespace softcheck::kernels::cpu {
namespace HWY_NAMESPACE {

// Adds up a block: add(d, sum, i) is sum and the terms of the items from i on.
template <class T, class Add>
HWY_INLINE T lane_sum(std::size_t count, Add add) {
  const Tag<T> d;
  constexpr std::size_t width = hn::MaxLanes(Tag<T>());
  constexpr std::size_t vectors = block_lanes<T> / width;
  hn::Vec<Tag<T>> sums[vectors];
  for (std::size_t v = 0; v < vectors; ++v) {
    sums[v] = hn::Zero(d);
  }
  for (std::size_t i = 0; i < count; i += block_lanes<T>) {
    for (std::size_t v = 0; v < vectors; ++v) {
      sums[v] = add(d, sums[v], i + v * width);
    }
  }
  return sum_of_lanes<T>(d, sums);
}

template <class T>
HWY_INLINE T distance_of(const T* x, std::size_t count, T m) {
  return lane_sum<T>(count, [=](auto d, auto sum, std::size_t i)
                                HWY_ATTR { return hn::Add(sum, hn::Sub(hn::Set(d, m), hn::LoadU(d, x + i))); });
}

template <class T>
HWY_INLINE T total_of(const T* x, std::size_t count) {
  return lane_sum<T>(count,
                     [=](auto d, auto sum, std::size_t i) HWY_ATTR { return hn::Add(sum, hn::LoadU(d, x + i)); });
}

template <class T>
HWY_INLINE T product_of(const T* y, const T* g, std::size_t count) {
  return lane_sum<T>(count, [=](auto d, auto sum, std::size_t i)
                                HWY_ATTR { return hn::MulAdd(hn::LoadU(d, y + i), hn::LoadU(d, g + i), sum); });
}

template <class T>
HWY_INLINE void slopes_of(T* values, std::size_t count, T alpha, T subtrahend, T factor) {
  const Tag<T> d;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto slope = hn::MulSub(hn::LoadU(d, values + i), hn::Set(d, alpha), hn::Set(d, subtrahend));
    hn::StoreU(hn::Mul(slope, hn::Set(d, factor)), d, values + i);
  }
}

template <class T>
HWY_INLINE void softmax_gradient_of(const T* y, const T* g, std::size_t count, T mean, T* out) {
  const Tag<T> d;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto centred = hn::Sub(hn::LoadU(d, g + i), hn::Set(d, mean));
    hn::StoreU(hn::Mul(hn::LoadU(d, y + i), centred), d, out + i);
  }
}

template <class T>
HWY_INLINE void log_gradient_of(const T* y, const T* g, std::size_t count, T total, T* out) {
  const Tag<T> d;
  constexpr std::size_t width = hn::MaxLanes(Tag<T>());
  constexpr std::size_t vectors = block_lanes<T> / width;
  using V = hn::Vec<Tag<T>>;
  for (std::size_t i = 0; i < count; i += block_lanes<T>) {
    V z[vectors];
    V w[vectors];
    for (std::size_t v = 0; v < vectors; ++v) {
      z[v] = bounded_below_or_nan<T>(d, hn::LoadU(d, y + i + v * width));
    }
    scaled_exps<T>(d, z, w);
    for (std::size_t v = 0; v < vectors; ++v) {
      const V p = hn::Mul(w[v], hn::Set(d, ExpConstants<T>::unscale));
      hn::StoreU(hn::NegMulAdd(p, hn::Set(d, total), hn::LoadU(d, g + i + v * width)), d, out + i + v * width);
    }
  }
}

float Distance32(const float* x, std::size_t count, float m) { return distance_of<float>(x, count, m); }
double Distance64(const double* x, std::size_t count, double m) { return distance_of<double>(x, count, m); }
float Total32(const float* x, std::size_t count) { return total_of<float>(x, count); }
double Total64(const double* x, std::size_t count) { return total_of<double>(x, count); }
float Product32(const float* y, const float* g, std::size_t count) { return product_of<float>(y, g, count); }
double Product64(const double* y, const double* g, std::size_t count) { return product_of<double>(y, g, count); }
void Slopes32(float* values, std::size_t count, float alpha, float subtrahend, float factor) {
  slopes_of<float>(values, count, alpha, subtrahend, factor);
}
void Slopes64(double* values, std::size_t count, double alpha, double subtrahend, double factor) {
  slopes_of<double>(values, count, alpha, subtrahend, factor);
}
void SoftmaxGradient32(const float* y, const float* g, std::size_t count, float mean, float* out) {
  softmax_gradient_of<float>(y, g, count, mean, out);
}
void SoftmaxGradient64(const double* y, const double* g, std::size_t count, double mean, double* out) {
  softmax_gradient_of<double>(y, g, count, mean, out);
}
void LogGradient32(const float* y, const float* g, std::size_t count, float total, float* out) {
  log_gradient_of<float>(y, g, count, total, out);
}
void LogGradient64(const double* y, const double* g, std::size_t count, double total, double* out) {
  log_gradient_of<double>(y, g, count, total, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace softcheck::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace softcheck::kernels::cpu {

HWY_EXPORT(Distance32);
HWY_EXPORT(Distance64);
HWY_EXPORT(Total32);
HWY_EXPORT(Total64);
HWY_EXPORT(Product32);
HWY_EXPORT(Product64);
HWY_EXPORT(Slopes32);
HWY_EXPORT(Slopes64);
HWY_EXPORT(SoftmaxGradient32);
HWY_EXPORT(SoftmaxGradient64);
HWY_EXPORT(LogGradient32);
HWY_EXPORT(LogGradient64);

float block_distance(const float* x, std::size_t count, float m) {
  return HWY_DYNAMIC_DISPATCH(Distance32)(x, count, m);
}
double block_distance(const double* x, std::size_t count, double m) {
  return HWY_DYNAMIC_DISPATCH(Distance64)(x, count, m);
}
float block_total(const float* x, std::size_t count) { return HWY_DYNAMIC_DISPATCH(Total32)(x, count); }
double block_total(const double* x, std::size_t count) { return HWY_DYNAMIC_DISPATCH(Total64)(x, count); }
float block_product(const float* y, const float* g, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(Product32)(y, g, count);
}
double block_product(const double* y, const double* g, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(Product64)(y, g, count);
}
void block_slopes(float* values, std::size_t count, float alpha, float subtrahend, float factor) {
  HWY_DYNAMIC_DISPATCH(Slopes32)(values, count, alpha, subtrahend, factor);
}
void block_slopes(double* values, std::size_t count, double alpha, double subtrahend, double factor) {
  HWY_DYNAMIC_DISPATCH(Slopes64)(values, count, alpha, subtrahend, factor);
}
void block_softmax_gradient(const float* y, const float* g, std::size_t count, float mean, float* out) {
  HWY_DYNAMIC_DISPATCH(SoftmaxGradient32)(y, g, count, mean, out);
}
void block_softmax_gradient(const double* y, const double* g, std::size_t count, double mean, double* out) {
  HWY_DYNAMIC_DISPATCH(SoftmaxGradient64)(y, g, count, mean, out);
}
void block_log_gradient(const float* y, const float* g, std::size_t count, float total, float* out) {
  HWY_DYNAMIC_DISPATCH(LogGradient32)(y, g, count, total, out);
}
void block_log_gradient(const double* y, const double* g, std::size_t count, double total, double* out) {
  HWY_DYNAMIC_DISPATCH(LogGradient64)(y, g, count, total, out);
}

}  // namespace softcheck::kernels::cpu
#endif
