#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rows/gradient_passes.cpp"
#include <hwy/foreach_target.h>
// foreach_target comes first: it includes this file once per instruction set.
#include <hwy/highway.h>

#include <limits>

#include "kernels/arithmetic/exp_constants.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/rows/exp_lanes.inl"
#include "kernels/cpu/rows/gradient_passes.hpp"

HWY_BEFORE_NAMESPACE();
namespace softcheck::kernels::cpu {
namespace HWY_NAMESPACE {

template <class T, class V, class M>
struct Item {
  V deviation;  // d, at least 0, and bounded where its weight is 0
  V gradient;   // 0 if the item is masked
  M masked;
};

// At most 0, and NaN if z is: the other side of bounded_below_or_nan.
template <class T, class V>
HWY_INLINE V negative_or_nan(Tag<T> d, V z) {
#if HWY_ARCH_X86
  return hn::Min(hn::Zero(d), z);  // minps gives its second operand where either is NaN; fminnm the number
#else
  return hn::IfThenZeroElse(hn::Gt(z, hn::Zero(d)), z);
#endif
}

template <class T>
HWY_INLINE auto item_at(Tag<T> d, const T* x, const T* g, hn::Vec<Tag<T>> m) {
  using V = hn::Vec<Tag<T>>;
  const V value = hn::LoadU(d, x);
  const auto masked = hn::Eq(value, hn::Set(d, -std::numeric_limits<T>::infinity()));
  // m may be a rounded log-sum-exp below x; clamps the argument, because no probability is above 1.
  const V below = negative_or_nan<T>(d, hn::Sub(value, m));
  const V deviation = hn::Neg(bounded_below_or_nan<T>(d, below));
  return Item<T, V, decltype(masked)>{deviation, hn::IfThenZeroElse(masked, hn::LoadU(d, g)), masked};
}

// exp(-beta d) of n vectors, without a scale.
template <class T, class V, std::size_t n>
HWY_INLINE void weights_of(Tag<T> d, const V (&deviations)[n], V beta, V (&weights)[n]) {
  V z[n];
  for (std::size_t v = 0; v < n; ++v) {
    z[v] = bounded_below_or_nan<T>(d, hn::Neg(hn::Mul(deviations[v], beta)));
  }
  scaled_exps<T>(d, z, weights);
  for (std::size_t v = 0; v < n; ++v) {
    weights[v] = hn::Mul(weights[v], hn::Set(d, ExpConstants<T>::unscale));
  }
}

// The number of vectors processed at once, a whole number of blocks of lanes: their dependency chains overlap.
template <class T>
inline constexpr std::size_t lane_vectors = block_lanes<T> / hn::MaxLanes(Tag<T>());
template <class T>
inline constexpr std::size_t side_by_side = lane_vectors<T> < 4 ? 4 : lane_vectors<T>;

template <class T, class V>
struct VectorSums {
  V weights[lane_vectors<T>];
  V gradients[lane_vectors<T>];
  V deviations[lane_vectors<T>];
  V products[lane_vectors<T>];
};

// n vectors from x and g on; the sums take a block of lanes after the other.
template <std::size_t n, class T, class V>
HWY_INLINE void add_items(Tag<T> d, const T* x, const T* g, V m, V beta, VectorSums<T, V>& sums) {
  V deviations[n];
  V gradients[n];
  V weights[n];
  for (std::size_t v = 0; v < n; ++v) {
    const auto item = item_at<T>(d, x + v * hn::MaxLanes(d), g + v * hn::MaxLanes(d), m);
    deviations[v] = item.deviation;
    gradients[v] = item.gradient;
  }
  weights_of<T>(d, deviations, beta, weights);
  for (std::size_t v = 0; v < n; ++v) {
    const std::size_t lane = v % lane_vectors<T>;
    const V weighted = hn::Mul(weights[v], gradients[v]);
    sums.weights[lane] = hn::Add(sums.weights[lane], weights[v]);
    sums.gradients[lane] = hn::Add(sums.gradients[lane], weighted);
    sums.deviations[lane] = hn::MulAdd(weights[v], deviations[v], sums.deviations[lane]);
    sums.products[lane] = hn::MulAdd(weighted, deviations[v], sums.products[lane]);
  }
}

template <class T>
HWY_INLINE GradientSums<T> sums_of(const T* x, const T* g, std::size_t count, T maximum, T inverse_temperature) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  constexpr std::size_t step = side_by_side<T> * hn::MaxLanes(Tag<T>());
  const V m = hn::Set(d, maximum);
  const V beta = hn::Set(d, inverse_temperature);
  VectorSums<T, V> sums;
  for (std::size_t v = 0; v < lane_vectors<T>; ++v) {
    sums.weights[v] = sums.gradients[v] = sums.deviations[v] = sums.products[v] = hn::Zero(d);
  }
  std::size_t i = 0;
  for (; i + step <= count; i += step) {
    add_items<side_by_side<T>, T>(d, x + i, g + i, m, beta, sums);
  }
  for (; i < count; i += block_lanes<T>) {
    add_items<lane_vectors<T>, T>(d, x + i, g + i, m, beta, sums);
  }
  return {sum_of_lanes<T>(d, sums.weights), sum_of_lanes<T>(d, sums.gradients), sum_of_lanes<T>(d, sums.deviations),
          sum_of_lanes<T>(d, sums.products)};
}

// n vectors from x and g on, to out and, where it is not nullptr, to probabilities.
template <std::size_t n, class T>
HWY_INLINE void differentiate_items(Tag<T> d, const T* x, const T* g, const GradientTerms<T>& terms, T* out,
                                    T* probabilities) {
  using V = hn::Vec<Tag<T>>;
  constexpr std::size_t lanes = hn::MaxLanes(Tag<T>());
  const V m = hn::Set(d, terms.maximum);
  V deviations[n];
  V weights[n];
  V entropic[n];
  const bool of_entropy = terms.entropic != 0;  // a local: the compiler would reload it after each store to out
  for (std::size_t v = 0; v < n; ++v) {
    deviations[v] = item_at<T>(d, x + v * lanes, g + v * lanes, m).deviation;
  }
  weights_of<T>(d, deviations, hn::Set(d, terms.beta), weights);
  if (of_entropy) {
    weights_of<T>(d, deviations, hn::Set(d, T(1)), entropic);
  }
  for (std::size_t v = 0; v < n; ++v) {
    const auto [deviation, gradient, masked] = item_at<T>(d, x + v * lanes, g + v * lanes, m);
    if (probabilities != nullptr) {
      hn::StoreU(hn::IfThenZeroElse(masked, hn::Mul(weights[v], hn::Set(d, terms.probability))), d,
                 probabilities + v * lanes);
    }
    V sum =
        hn::Mul(hn::Mul(weights[v], hn::Set(d, terms.incoming)), hn::Sub(gradient, hn::Set(d, terms.mean_gradient)));
    if (of_entropy) {
      sum = hn::MulAdd(hn::Mul(entropic[v], hn::Set(d, terms.entropic)),
                       hn::Sub(deviation, hn::Set(d, terms.mean_deviation)), sum);
    }
    hn::StoreU(hn::IfThenZeroElse(masked, sum), d, out + v * lanes);
  }
}

template <class T>
HWY_INLINE void gradient_of(const T* x, const T* g, std::size_t count, const GradientTerms<T>& terms, T* out,
                            T* probabilities) {
  const Tag<T> d;
  constexpr std::size_t step = side_by_side<T> * hn::MaxLanes(Tag<T>());
  const auto at = [&](std::size_t i) { return probabilities == nullptr ? nullptr : probabilities + i; };
  std::size_t i = 0;
  for (; i + step <= count; i += step) {
    differentiate_items<side_by_side<T>, T>(d, x + i, g + i, terms, out + i, at(i));
  }
  for (; i < count; i += block_lanes<T>) {
    differentiate_items<lane_vectors<T>, T>(d, x + i, g + i, terms, out + i, at(i));
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
