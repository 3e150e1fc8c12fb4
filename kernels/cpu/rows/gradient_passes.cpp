#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rows/gradient_passes.cpp"
#include <hwy/foreach_target.h>
// foreach_target comes first: it includes this file once per instruction set.
#include <hwy/highway.h>

#include <limits>

#include "kernels/arithmetic/exp_constants.hpp"
#include "kernels/cpu/exp_lanes.inl"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/rows/gradient_passes.hpp"

HWY_BEFORE_NAMESPACE();
namespace softcheck::kernels::cpu {
namespace HWY_NAMESPACE {

template <class T, class V, class M>
struct Item {
  V deviation;  // d, bounded where its weight is 0
  V gradient;   // 0 where the item is masked
  M masked;
};

template <class T>
HWY_INLINE auto item_at(Tag<T> d, const T* x, const T* g, hn::Vec<Tag<T>> m) {
  using V = hn::Vec<Tag<T>>;
  const V value = hn::LoadU(d, x);
  const auto masked = hn::Eq(value, hn::Set(d, -std::numeric_limits<T>::infinity()));
  const V deviation = hn::Min(hn::Sub(m, value), hn::Set(d, -ExpConstants<T>::vanishing));
  return Item<T, V, decltype(masked)>{deviation, hn::IfThenZeroElse(masked, hn::LoadU(d, g)), masked};
}

// exp(-beta d), without a scale.
template <class T, class V>
HWY_INLINE V weight_of(Tag<T> d, V deviation, V beta) {
  const V z = bounded_below<T>(d, hn::Neg(hn::Mul(deviation, beta)));
  return hn::Mul(scaled_exp<T>(d, z), hn::Set(d, ExpConstants<T>::unscale));
}

template <class T>
HWY_INLINE GradientSums<T> sums_of(const T* x, const T* g, std::size_t count, T maximum, T inverse_temperature) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  constexpr std::size_t width = hn::MaxLanes(Tag<T>());
  constexpr std::size_t vectors = block_lanes<T> / width;
  const V m = hn::Set(d, maximum);
  const V beta = hn::Set(d, inverse_temperature);
  V weights[vectors];
  V gradients[vectors];
  V deviations[vectors];
  V products[vectors];
  for (std::size_t v = 0; v < vectors; ++v) {
    weights[v] = gradients[v] = deviations[v] = products[v] = hn::Zero(d);
  }
  for (std::size_t i = 0; i < count; i += block_lanes<T>) {
    for (std::size_t v = 0; v < vectors; ++v) {
      const auto [deviation, gradient, masked] = item_at<T>(d, x + i + v * width, g + i + v * width, m);
      const V w = weight_of<T>(d, deviation, beta);
      const V weighted = hn::Mul(w, gradient);
      weights[v] = hn::Add(weights[v], w);
      gradients[v] = hn::Add(gradients[v], weighted);
      deviations[v] = hn::MulAdd(w, deviation, deviations[v]);
      products[v] = hn::MulAdd(weighted, deviation, products[v]);
    }
  }
  return {sum_of_lanes<T>(d, weights), sum_of_lanes<T>(d, gradients), sum_of_lanes<T>(d, deviations),
          sum_of_lanes<T>(d, products)};
}

template <class T>
HWY_INLINE void gradient_of(const T* x, const T* g, std::size_t count, const GradientTerms<T>& terms, T* out,
                            T* probabilities) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  const V m = hn::Set(d, terms.maximum);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto [deviation, gradient, masked] = item_at<T>(d, x + i, g + i, m);
    const V weight = weight_of<T>(d, deviation, hn::Set(d, terms.beta));
    if (probabilities != nullptr) {
      hn::StoreU(hn::IfThenZeroElse(masked, hn::Mul(weight, hn::Set(d, terms.probability))), d, probabilities + i);
    }
    V sum = hn::Mul(hn::Mul(weight, hn::Set(d, terms.incoming)), hn::Sub(gradient, hn::Set(d, terms.mean_gradient)));
    if (terms.entropic != 0) {
      const V entropic = hn::Mul(weight_of<T>(d, deviation, hn::Set(d, T(1))), hn::Set(d, terms.entropic));
      sum = hn::MulAdd(entropic, hn::Sub(deviation, hn::Set(d, terms.mean_deviation)), sum);
    }
    hn::StoreU(hn::IfThenZeroElse(masked, sum), d, out + i);
  }
}

GradientSums<float> GradientSums32(const float* x, const float* g, std::size_t count, float m, float beta) {
  return sums_of<float>(x, g, count, m, beta);
}
GradientSums<double> GradientSums64(const double* x, const double* g, std::size_t count, double m, double beta) {
  return sums_of<double>(x, g, count, m, beta);
}
void Gradient32(const float* x, const float* g, std::size_t count, const GradientTerms<float>& terms, float* out,
                float* probabilities) {
  gradient_of<float>(x, g, count, terms, out, probabilities);
}
void Gradient64(const double* x, const double* g, std::size_t count, const GradientTerms<double>& terms, double* out,
                double* probabilities) {
  gradient_of<double>(x, g, count, terms, out, probabilities);
}

}  // namespace HWY_NAMESPACE
}  // namespace softcheck::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace softcheck::kernels::cpu {

HWY_EXPORT(GradientSums32);
HWY_EXPORT(GradientSums64);
HWY_EXPORT(Gradient32);
HWY_EXPORT(Gradient64);

GradientSums<float> gradient_sums(const float* x, const float* g, std::size_t count, float m, float beta) {
  return HWY_DYNAMIC_DISPATCH(GradientSums32)(x, g, count, m, beta);
}
GradientSums<double> gradient_sums(const double* x, const double* g, std::size_t count, double m, double beta) {
  return HWY_DYNAMIC_DISPATCH(GradientSums64)(x, g, count, m, beta);
}
void block_gradient(const float* x, const float* g, std::size_t count, const GradientTerms<float>& terms, float* out,
                    float* probabilities) {
  HWY_DYNAMIC_DISPATCH(Gradient32)(x, g, count, terms, out, probabilities);
}
void block_gradient(const double* x, const double* g, std::size_t count, const GradientTerms<double>& terms,
                    double* out, double* probabilities) {
  HWY_DYNAMIC_DISPATCH(Gradient64)(x, g, count, terms, out, probabilities);
}

}  // namespace softcheck::kernels::cpu
#endif
