#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/strict/gradient_passes.cpp"
#include <hwy/foreach_target.h>
// foreach_target comes first: it includes this file once per instruction set.
#include <hwy/highway.h>

#include "kernels/strict/gradient_passes.hpp"
#include "kernels/strict/strict_lanes.inl"

HWY_BEFORE_NAMESPACE();
namespace softcheck::kernels::strict {
namespace HWY_NAMESPACE {

template <class T>
HWY_INLINE void add_to(BlockSums<T>& sums, std::size_t thread, Lanes<T> x) {
  SumLanes<T> own = load_sums(sums, thread);
  own.add(x);
  store_sums(own, sums, thread);
}

template <bool adaptive, class T>
HWY_INLINE void gradients_with(const T* scores, const T* a, std::size_t used, T maximum, T inverse_temperature,
                               ThreadGradients<T>& sums) {
  const Tag<T> d;
  const Lanes<T> m = hn::Set(d, maximum), beta = hn::Set(d, inverse_temperature);
  for (std::size_t i = 0; i < used; i += lanes<T>) {
    const Lanes<T> x = hn::LoadU(d, scores + i);
    const auto seen = hn::Gt(x, hn::Set(d, minus_infinity<T>()));
    const Lanes<T> z = hn::Sub(x, m);
    const Lanes<T> w = hn::IfThenElseZero(seen, exponential_lanes<T>(hn::Mul(z, beta)));
    const Lanes<T> wa = hn::IfThenElseZero(seen, hn::Mul(w, hn::LoadU(d, a + i)));
    add_to(sums.weights, i, w);
    add_to(sums.gradients, i, wa);
    if constexpr (adaptive) {
      const auto some = hn::Gt(w, hn::Zero(d));
      add_to(sums.deviations, i, hn::IfThenElseZero(some, hn::Mul(w, hn::Neg(z))));
      add_to(sums.products, i, hn::IfThenElseZero(some, hn::Mul(wa, hn::Neg(z))));
    }
  }
}

template <class T>
HWY_ATTR void gradients_of(const T* scores, const T* a, std::size_t used, T maximum, T beta, bool adaptive,
                           ThreadGradients<T>& sums) {
  adaptive ? gradients_with<true>(scores, a, used, maximum, beta, sums)
           : gradients_with<false>(scores, a, used, maximum, beta, sums);
}

template <bool adaptive, class T>
HWY_INLINE void slopes_with(const T* scores, const T* a, const QueryGradients<T>& of, T* weights, T* slopes) {
  const Tag<T> d;
  const Lanes<T> infinity = hn::Set(d, std::numeric_limits<T>::infinity()), nan = hn::Set(d, not_a_number<T>());
  for (std::size_t i = 0; i < threads; i += lanes<T>) {
    const Lanes<T> x = hn::LoadU(d, scores + i), m = hn::LoadU(d, of.maximum + i), beta = hn::LoadU(d, of.beta + i);
    const Lanes<T> z = hn::Sub(x, m);
    const Lanes<T> p = hn::Mul(exponential_lanes<T>(hn::Mul(z, beta)), hn::LoadU(d, of.factor + i));
    Lanes<T> slope = hn::Mul(p, hn::Sub(hn::LoadU(d, a + i), hn::LoadU(d, of.mean + i)));
    if constexpr (adaptive) {
      const Lanes<T> r = hn::Mul(exponential_lanes<T>(z), hn::LoadU(d, of.own_factor + i));
      const Lanes<T> of_r = hn::Mul(r, hn::Sub(hn::Neg(z), hn::LoadU(d, of.own_mean + i)));
      const Lanes<T> by_entropy = hn::Mul(hn::LoadU(d, of.of_entropy + i), of_r);
      slope = fused_lanes<T>(beta, slope, hn::IfThenElseZero(hn::Gt(r, hn::Zero(d)), by_entropy));
    }
    const auto defined = hn::Lt(m, infinity), hidden = hn::Eq(x, hn::Set(d, minus_infinity<T>()));
    const Lanes<T> weight = hn::IfThenElse(hidden, hn::Set(d, T(-1)), hn::IfThenElse(defined, p, nan));
    hn::StoreU(weight, d, weights + i);
    hn::StoreU(hn::IfThenZeroElse(hidden, hn::IfThenElse(defined, slope, nan)), d, slopes + i);
  }
}

template <class T>
HWY_ATTR void slopes_of(const T* scores, const T* a, const QueryGradients<T>& of, bool adaptive, T* weights,
                        T* slopes) {
  adaptive ? slopes_with<true>(scores, a, of, weights, slopes) : slopes_with<false>(scores, a, of, weights, slopes);
}

template <class T>
inline constexpr GradientPasses<T> gradient_passes_of = {gradients_of<T>, slopes_of<T>};

const GradientPasses<float>* gradient_passes_f32() { return &gradient_passes_of<float>; }
const GradientPasses<double>* gradient_passes_f64() { return &gradient_passes_of<double>; }

}  // namespace HWY_NAMESPACE
}  // namespace softcheck::kernels::strict
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace softcheck::kernels::strict {

HWY_EXPORT(gradient_passes_f32);
HWY_EXPORT(gradient_passes_f64);

template <>
const GradientPasses<float>& gradient_passes<float>() {
  return *HWY_DYNAMIC_DISPATCH(gradient_passes_f32)();
}
template <>
const GradientPasses<double>& gradient_passes<double>() {
  return *HWY_DYNAMIC_DISPATCH(gradient_passes_f64)();
}

}  // namespace softcheck::kernels::strict
#endif
