#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rows/merge_passes.cpp"
#include <hwy/foreach_target.h>
// foreach_target comes first: it includes this file once per instruction set.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cmath>
#include <cstddef>

#include "kernels/arithmetic/exp_constants.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/rows/exp_lanes.inl"
#include "kernels/cpu/rows/merge_passes.hpp"

HWY_BEFORE_NAMESPACE();
namespace softcheck::kernels::cpu {
namespace HWY_NAMESPACE {

// w = 2^power_shift 2^z for z <= 0: like scaled_exp, except that z - k is exact, and ln 2 rounds once.
HWY_INLINE hn::Vec<Tag<double>> scaled_power_of_two(Tag<double> d, hn::Vec<Tag<double>> z) {
  using C = ExpConstants<double>;
  using V = hn::Vec<Tag<double>>;
  const hn::RebindToUnsigned<Tag<double>> bits;
  const V rounder = hn::Set(d, C::rounder);
  // Below this 2^(k + power_shift) is 0.
  const V bounded = hn::Max(z, hn::Set(d, -(C::power_shift + 1023.0)));
  const V rounded = hn::Add(bounded, rounder);
  const V r = hn::Mul(hn::Sub(bounded, hn::Sub(rounded, rounder)), hn::Set(d, 0x1.62e42fefa39efp-1));
  V q = hn::Set(d, C::q[C::degree]);
  for (int i = C::degree - 1; i >= 0; --i) {
    q = hn::MulAdd(q, r, hn::Set(d, C::q[i]));
  }
  const V significand = hn::Add(hn::Set(d, 1.0), hn::MulAdd(hn::Mul(r, r), q, r));
  return hn::Mul(significand, hn::BitCast(d, hn::ShiftLeft<C::significand_bits>(hn::BitCast(bits, rounded))));
}

void Exponentials(double* values, std::size_t count, bool base_2) {
  using C = ExpConstants<double>;
  const Tag<double> d;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto z = hn::LoadU(d, values + i);
    const auto w = base_2 ? scaled_power_of_two(d, z) : scaled_exp<double>(d, bounded_below<double>(d, z));
    hn::StoreU(hn::Mul(w, hn::Set(d, C::unscale)), d, values + i);
  }
}

// Below 2^-20 the sum 1 + x would lose digits that the result needs.
void NarrowLogarithms(double* values, std::size_t count) {
  const hn::CappedTag<double, 8> d;
  const auto one = hn::Set(d, 1.0);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const auto x = hn::LoadU(d, values + i);
    if (!hn::AllTrue(d, hn::Gt(x, hn::Set(d, 0x1p-20)))) {
      for (std::size_t j = i; j < i + hn::Lanes(d); ++j) {
        values[j] = std::log1p(values[j]);
      }
    } else {
      hn::StoreU(hn::Log(d, hn::Add(one, x)), d, values + i);
    }
  }
  for (; i < count; ++i) {
    values[i] = std::log1p(values[i]);
  }
}

template <class T, std::size_t vectors>
HWY_INLINE void weighted_columns(const T* const* parts, const T* weights, std::size_t count, std::size_t first,
                                 T* out) {
  const hn::CappedTag<T, column_group<T>> d;
  using V = hn::Vec<decltype(d)>;
  constexpr std::size_t lanes = hn::MaxLanes(hn::CappedTag<T, column_group<T>>());
  V sums[vectors];
  for (std::size_t v = 0; v < vectors; ++v) {
    sums[v] = hn::Zero(d);
  }
  for (std::size_t k = 0; k < count; ++k) {
    const V weight = hn::Set(d, weights[k]);
    const T* part = parts[k] + first;
    for (std::size_t v = 0; v < vectors; ++v) {
      sums[v] = hn::MulAdd(weight, hn::LoadU(d, part + v * lanes), sums[v]);
    }
  }
  for (std::size_t v = 0; v < vectors; ++v) {
    hn::StoreU(sums[v], d, out + first + v * lanes);
  }
}

template <class T>
HWY_INLINE void weighted_sum_of(const T* const* parts, const T* weights, std::size_t count, std::size_t width, T* out) {
  constexpr std::size_t lanes = hn::MaxLanes(hn::CappedTag<T, column_group<T>>());
  constexpr std::size_t group = column_group<T>, groups = 4;
  std::size_t first = 0;
  for (; first + groups * group <= width; first += groups * group) {
    weighted_columns<T, groups * group / lanes>(parts, weights, count, first, out);
  }
  for (; first < width; first += group) {
    weighted_columns<T, group / lanes>(parts, weights, count, first, out);
  }
}

void WeightedSum32(const float* const* parts, const float* weights, std::size_t count, std::size_t width, float* out) {
  weighted_sum_of<float>(parts, weights, count, width, out);
}
void WeightedSum64(const double* const* parts, const double* weights, std::size_t count, std::size_t width,
                   double* out) {
  weighted_sum_of<double>(parts, weights, count, width, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace softcheck::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace softcheck::kernels::cpu {

HWY_EXPORT(Exponentials);
HWY_EXPORT(NarrowLogarithms);
HWY_EXPORT(WeightedSum32);
HWY_EXPORT(WeightedSum64);

void exponentials(double* values, std::size_t count, bool base_2) {
  HWY_DYNAMIC_DISPATCH(Exponentials)(values, count, base_2);
}
void narrow_logarithms(double* values, std::size_t count) { HWY_DYNAMIC_DISPATCH(NarrowLogarithms)(values, count); }
void weighted_sum(const float* const* parts, const float* weights, std::size_t count, std::size_t width, float* out) {
  HWY_DYNAMIC_DISPATCH(WeightedSum32)(parts, weights, count, width, out);
}
void weighted_sum(const double* const* parts, const double* weights, std::size_t count, std::size_t width,
                  double* out) {
  HWY_DYNAMIC_DISPATCH(WeightedSum64)(parts, weights, count, width, out);
}

}  // namespace softcheck::kernels::cpu
#endif
