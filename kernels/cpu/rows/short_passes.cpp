#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rows/short_passes.cpp"
#include <hwy/foreach_target.h>
// foreach_target comes first: it includes this file once per instruction set.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cmath>
#include <cstddef>

#include "kernels/arithmetic/adaptive_beta.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/rows/block_lanes.inl"
#include "kernels/cpu/rows/row_state.hpp"
#include "kernels/cpu/rows/short_passes.hpp"

HWY_BEFORE_NAMESPACE();
namespace softcheck::kernels::cpu {
namespace HWY_NAMESPACE {

using Wide = hn::CappedTag<double, 8>;
using WideV = hn::Vec<Wide>;

// Some of an array over rows, as double.
HWY_INLINE WideV wide_of(Wide d, const double* from) { return hn::LoadU(d, from); }
HWY_INLINE WideV wide_of(Wide d, const float* from) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, Wide>(), from));
}
HWY_INLINE void narrow_to(Wide d, WideV v, double* to) { hn::StoreU(v, d, to); }
HWY_INLINE void narrow_to(Wide /*d*/, WideV v, float* to) {
  const hn::Rebind<float, Wide> narrow;
  hn::StoreU(hn::DemoteTo(narrow, v), narrow, to);
}

// As sum_minus_one.
template <class T>
HWY_INLINE WideV sums_minus_one(Wide d, const ShortRows<T>& rows, std::size_t r) {
  const WideV unscale = hn::Set(d, static_cast<double>(ExpConstants<T>::unscale));
  const WideV ones = hn::Sub(hn::Mul(wide_of(d, rows.ones + r), unscale), hn::Set(d, 1.0));
  return hn::Add(ones, hn::Mul(wide_of(d, rows.weights + r), unscale));
}

template <class T>
HWY_INLINE void set_sums(ShortRows<T>& rows, std::size_t r, const BlockSums<T>& sums) {
  rows.ones[r] = sums.ones;
  rows.weights[r] = sums.weights;
  rows.deviations[r] = sums.deviations;
}

template <class T>
HWY_INLINE void maxima_of(ShortRows<T>& rows) {
  for (std::size_t r = 0; r < rows.rows; ++r) {
    rows.maxima[r] = maximum_of<T>(rows.in[r], rows.count);
  }
}

// 1 / S, rounded twice: as normalizer.
template <class T>
HWY_INLINE void normalize_all(ShortRows<T>& rows) {
  const Wide d;
  const WideV one = hn::Set(d, 1.0);
  alignas(64) T factors[batch_rows];
  for (std::size_t r = 0; r < batch_rows; r += hn::Lanes(d)) {
    narrow_to(d, hn::Div(one, hn::Add(one, sums_minus_one(d, rows, r))), factors + r);
  }
  for (std::size_t r = 0; r < rows.rows; ++r) {
    normalize_of<T>(rows.out[r], rows.count, factors[r], rows.out[r]);
  }
}

template <class T>
HWY_INLINE void softmax_of(ShortRows<T>& rows) {
  maxima_of(rows);
  for (std::size_t r = 0; r < rows.rows; ++r) {
    set_sums(rows, r,
             sums_of<Wanted::weights, true, T>(rows.in[r], rows.count, rows.maxima[r], rows.scale, rows.out[r]));
  }
  normalize_all(rows);
}

template <bool has_ones, class T>
HWY_INLINE void states_of(ShortRows<T>& rows) {
  maxima_of(rows);
  for (std::size_t r = 0; r < rows.rows; ++r) {
    set_sums(rows, r, sums_of<Wanted::sums, has_ones, T>(rows.in[r], rows.count, rows.maxima[r], rows.scale, nullptr));
  }
}

// ln S + T / S, in double: the 3 ulp of Highway's logarithm are negligible for a result in f32. For results in f64 libm
// computes it.
HWY_INLINE void entropies_of(ShortRows<float>& rows) {
  const Wide d;
  const double least = 0x1p-20;  // of S - 1: see log_sum
  for (std::size_t r = 0; r < batch_rows; r += hn::Lanes(d)) {
    const WideV less_one = sums_minus_one(d, rows, r);
    const WideV sum = hn::Add(hn::Set(d, 1.0), less_one);
    const WideV deviations =
        hn::Mul(wide_of(d, rows.deviations + r), hn::Set(d, static_cast<double>(ExpConstants<float>::unscale)));
    hn::StoreU(hn::Add(hn::Log(d, sum), hn::Div(deviations, sum)), d, rows.entropies + r);
    if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Gt(less_one, hn::Set(d, least))))) {
      for (std::size_t i = r; i < r + hn::Lanes(d); ++i) {
        rows.entropies[i] = entropy_of(BlockSums<float>{rows.ones[i], rows.weights[i], rows.deviations[i], 0});
      }
    }
  }
}
HWY_INLINE void entropies_of(ShortRows<double>& rows) {
  for (std::size_t r = 0; r < rows.rows; ++r) {
    rows.entropies[r] = entropy_of(BlockSums<double>{rows.ones[r], rows.weights[r], rows.deviations[r], 0});
  }
}

HWY_INLINE void betas_of(const ShortRows<float>& rows, float* betas) {
  using P = AdaptivePolynomial;
  const Wide d;
  for (std::size_t r = 0; r < batch_rows; r += hn::Lanes(d)) {
    const WideV h = hn::LoadU(d, rows.entropies + r);
    WideV p = hn::MulAdd(h, hn::Set(d, P::a4), hn::Set(d, P::a3));
    p = hn::MulAdd(p, h, hn::Set(d, P::a2));
    p = hn::MulAdd(p, h, hn::Set(d, P::a1));
    p = hn::MulAdd(p, h, hn::Set(d, P::a0));
    const WideV one = hn::Set(d, 1.0);
    const auto above = hn::And(hn::Gt(h, hn::Set(d, P::least_entropy)), hn::Gt(p, one));
    narrow_to(d, hn::IfThenElse(above, p, one), betas + r);
  }
}
HWY_INLINE void betas_of(const ShortRows<double>& rows, double* betas) {
  for (std::size_t r = 0; r < rows.rows; ++r) {
    betas[r] = adaptive_beta(rows.entropies[r]);
  }
}

template <class T>
HWY_INLINE void adaptive_of(ShortRows<T>& rows, bool wanted) {
  states_of<false>(rows);  // H > 0.5 nats is as accurate with the ones among the sum
  entropies_of(rows);
  alignas(64) T betas[batch_rows];
  betas_of(rows, betas);
  if (wanted) {
    for (std::size_t r = 0; r < rows.rows; ++r) {
      set_sums(rows, r, sums_of<Wanted::sums, true, T>(rows.in[r], rows.count, rows.maxima[r], betas[r], nullptr));
    }
    entropies_of(rows);
  }
  for (std::size_t r = 0; r < rows.rows; ++r) {
    if (betas[r] != 1) {
      rows.ones[r] = 0;
      rows.weights[r] = totals_of<T>(rows.in[r], rows.count, rows.maxima[r], betas[r], rows.out[r]);
    } else {
      set_sums(rows, r, sums_of<Wanted::weights, true, T>(rows.in[r], rows.count, rows.maxima[r], T(1), rows.out[r]));
    }
  }
  normalize_all(rows);
}

void Softmax32(ShortRows<float>& rows) { softmax_of<float>(rows); }
void Softmax64(ShortRows<double>& rows) { softmax_of<double>(rows); }
void States32(ShortRows<float>& rows) { states_of<true, float>(rows); }
void States64(ShortRows<double>& rows) { states_of<true, double>(rows); }
void Entropies32(ShortRows<float>& rows) { entropies_of(rows); }
void Entropies64(ShortRows<double>& rows) { entropies_of(rows); }
void Adaptive32(ShortRows<float>& rows, bool wanted) { adaptive_of<float>(rows, wanted); }
void Adaptive64(ShortRows<double>& rows, bool wanted) { adaptive_of<double>(rows, wanted); }

}  // namespace HWY_NAMESPACE
}  // namespace softcheck::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace softcheck::kernels::cpu {

HWY_EXPORT(Softmax32);
HWY_EXPORT(Softmax64);
HWY_EXPORT(States32);
HWY_EXPORT(States64);
HWY_EXPORT(Entropies32);
HWY_EXPORT(Entropies64);
HWY_EXPORT(Adaptive32);
HWY_EXPORT(Adaptive64);

void short_softmax(ShortRows<float>& rows) { HWY_DYNAMIC_DISPATCH(Softmax32)(rows); }
void short_softmax(ShortRows<double>& rows) { HWY_DYNAMIC_DISPATCH(Softmax64)(rows); }
void short_states(ShortRows<float>& rows) { HWY_DYNAMIC_DISPATCH(States32)(rows); }
void short_states(ShortRows<double>& rows) { HWY_DYNAMIC_DISPATCH(States64)(rows); }
void short_entropies(ShortRows<float>& rows) { HWY_DYNAMIC_DISPATCH(Entropies32)(rows); }
void short_entropies(ShortRows<double>& rows) { HWY_DYNAMIC_DISPATCH(Entropies64)(rows); }
void short_adaptive(ShortRows<float>& rows, bool wanted) { HWY_DYNAMIC_DISPATCH(Adaptive32)(rows, wanted); }
void short_adaptive(ShortRows<double>& rows, bool wanted) { HWY_DYNAMIC_DISPATCH(Adaptive64)(rows, wanted); }

}  // namespace softcheck::kernels::cpu
#endif
