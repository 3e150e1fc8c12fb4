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

// A product with a scale of 1 is exact, and left out.
template <bool scaled, class T, class V>
HWY_INLINE V scaled_deviation(Tag<T> d, const T* x, V m, V scale) {
  const V z = hn::Sub(hn::LoadU(d, x), m);
  return bounded_below<T>(d, scaled ? hn::Mul(z, scale) : z);
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

enum class Wanted { sums, moments, weights };

template <Wanted wanted, bool scaled, bool has_ones, class T>
HWY_INLINE BlockSums<T> sums_at(const T* x, std::size_t count, T maximum, T scale_factor, T* out) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  constexpr std::size_t width = hn::MaxLanes(Tag<T>());
  constexpr std::size_t vectors = block_lanes<T> / width;
  const V m = hn::Set(d, maximum);
  const V scale = hn::Set(d, scale_factor);
  std::size_t below = 0;  // weights that are not 1, where that is counted
  V weights[vectors];
  V deviations[vectors];
  V squares[vectors];
  for (std::size_t v = 0; v < vectors; ++v) {
    weights[v] = deviations[v] = squares[v] = hn::Zero(d);
  }
  for (std::size_t i = 0; i < count; i += block_lanes<T>) {
    for (std::size_t v = 0; v < vectors; ++v) {
      const V z = scaled_deviation<scaled, T>(d, x + i + v * width, m, scale);
      const V w = scaled_exp<T>(d, z);
      if constexpr (has_ones) {
        const auto below_one = hn::Ne(z, hn::Zero(d));
        below += hn::CountTrue(d, below_one);
        weights[v] = hn::IfThenElse(below_one, hn::Add(weights[v], w), weights[v]);
      } else {
        weights[v] = hn::Add(weights[v], w);
      }
      deviations[v] = hn::NegMulAdd(w, z, deviations[v]);
      if constexpr (wanted == Wanted::moments) {
        squares[v] = hn::MulAdd(hn::Mul(w, z), z, squares[v]);
      }
      if constexpr (wanted == Wanted::weights) {
        hn::StoreU(w, d, out + i + v * width);
      }
    }
  }
  // At most block_size ones: exact.
  const std::size_t ones = has_ones ? count - below : 0;
  return {static_cast<T>(ones) / ExpConstants<T>::unscale, sum_of_lanes<T>(d, weights), sum_of_lanes<T>(d, deviations),
          wanted == Wanted::moments ? sum_of_lanes<T>(d, squares) : T(0)};
}

template <Wanted wanted, bool has_ones, class T>
HWY_INLINE BlockSums<T> sums_of(const T* x, std::size_t count, T maximum, T scale, T* out) {
  return scale == 1 ? sums_at<wanted, false, has_ones>(x, count, maximum, scale, out)
                    : sums_at<wanted, true, has_ones>(x, count, maximum, scale, out);
}

template <class T>
HWY_INLINE T totals_of(const T* x, std::size_t count, T maximum, T scale_factor, T* out) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  constexpr std::size_t width = hn::MaxLanes(Tag<T>());
  constexpr std::size_t vectors = block_lanes<T> / width;
  const V m = hn::Set(d, maximum);
  const V scale = hn::Set(d, scale_factor);
  V totals[vectors];
  for (std::size_t v = 0; v < vectors; ++v) {
    totals[v] = hn::Zero(d);
  }
  for (std::size_t i = 0; i < count; i += block_lanes<T>) {
    for (std::size_t v = 0; v < vectors; ++v) {
      const V w = scaled_exp<T>(d, scaled_deviation<true, T>(d, x + i + v * width, m, scale));
      totals[v] = hn::Add(totals[v], w);
      hn::StoreU(w, d, out + i + v * width);
    }
  }
  return sum_of_lanes<T>(d, totals);
}

template <class T>
HWY_INLINE void probabilities_of(const T* x, std::size_t count, T maximum, T scale_factor, T factor, T* out) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  const V m = hn::Set(d, maximum);
  const V scale = hn::Set(d, scale_factor);
  const V times = hn::Set(d, factor * ExpConstants<T>::unscale);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::StoreU(hn::Mul(scaled_exp<T>(d, scaled_deviation<true, T>(d, x + i, m, scale)), times), d, out + i);
  }
}

template <class T>
HWY_INLINE void normalize_of(const T* weights, std::size_t count, T factor, T* out) {
  const Tag<T> d;
  // Exact, as factor is no smaller than 1/n: the product rounds once.
  const hn::Vec<Tag<T>> times = hn::Set(d, factor * ExpConstants<T>::unscale);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::StoreU(hn::Mul(hn::LoadU(d, weights + i), times), d, out + i);
  }
}

template <class T>
HWY_INLINE void softmax_of(ShortRows<T>& rows) {
  for (std::size_t r = 0; r < rows.rows; ++r) {
    rows.results[r].best = maximum_of<T>(rows.in[r], rows.count);
  }
  for (std::size_t r = 0; r < rows.rows; ++r) {
    rows.results[r].sums = sums_of<Wanted::weights, true, T>(rows.in[r], rows.count, rows.results[r].best.maximum,
                                                             rows.scale, rows.out[r]);
  }
  T factors[batch_rows];
  for (std::size_t r = 0; r < rows.rows; ++r) {
    factors[r] = normalizer(rows.results[r].sums);
  }
  for (std::size_t r = 0; r < rows.rows; ++r) {
    normalize_of<T>(rows.out[r], rows.count, factors[r], rows.out[r]);
  }
}

template <class T>
HWY_INLINE void states_of(ShortRows<T>& rows) {
  for (std::size_t r = 0; r < rows.rows; ++r) {
    rows.results[r].best = maximum_of<T>(rows.in[r], rows.count);
  }
  for (std::size_t r = 0; r < rows.rows; ++r) {
    rows.results[r].sums =
        sums_of<Wanted::sums, true, T>(rows.in[r], rows.count, rows.results[r].best.maximum, rows.scale, nullptr);
  }
}

template <class T>
HWY_INLINE void adaptive_of(ShortRows<T>& rows) {
  T factors[batch_rows];
  for (std::size_t r = 0; r < rows.rows; ++r) {
    BlockSums<T> sums = rows.results[r].sums;
    if (rows.betas[r] != 1) {
      sums = {T(0), totals_of<T>(rows.in[r], rows.count, rows.results[r].best.maximum, rows.betas[r], rows.out[r]),
              T(0), T(0)};
    }
    factors[r] = normalizer(sums);
  }
  for (std::size_t r = 0; r < rows.rows; ++r) {
    if (rows.betas[r] != 1) {
      normalize_of<T>(rows.out[r], rows.count, factors[r], rows.out[r]);
    } else {
      probabilities_of<T>(rows.in[r], rows.count, rows.results[r].best.maximum, T(1), factors[r], rows.out[r]);
    }
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

template <class T>
HWY_INLINE T exp_of(T z) {
  const Tag<T> d;
  const auto clamped = bounded_below<T>(d, hn::Set(d, z));
  return hn::GetLane(scaled_exp<T>(d, clamped)) * ExpConstants<T>::unscale;
}

// Calls widen(vector of bits as u32) for whole vectors and once more for what is left, filled up with 0.
template <class Widen>
HWY_INLINE void widen_of(const std::uint16_t* in, std::size_t count, float* out, Widen widen) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<std::uint16_t, hn::ScalableTag<float>> narrow;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(widen(d, hn::LoadU(narrow, in + i)), d, out + i);
  }
  if (i < count) {
    alignas(64) std::uint16_t rest[hn::MaxLanes(hn::ScalableTag<float>())] = {};
    alignas(64) float wide[hn::MaxLanes(hn::ScalableTag<float>())];
    std::copy(in + i, in + count, rest);
    hn::Store(widen(d, hn::Load(narrow, rest)), d, wide);
    std::copy(wide, wide + (count - i), out + i);
  }
}

// One plain function per pass and type: what the dispatch table can point to.
BlockMaximum<float> Maximum32(const float* x, std::size_t count) { return maximum_of<float>(x, count); }
BlockMaximum<double> Maximum64(const double* x, std::size_t count) { return maximum_of<double>(x, count); }
BlockSums<float> Sums32(const float* x, std::size_t count, float m, float scale) {
  return sums_of<Wanted::sums, true, float>(x, count, m, scale, nullptr);
}
BlockSums<double> Sums64(const double* x, std::size_t count, double m, double scale) {
  return sums_of<Wanted::sums, true, double>(x, count, m, scale, nullptr);
}
BlockSums<float> Moments32(const float* x, std::size_t count, float m, float scale) {
  return sums_of<Wanted::moments, true, float>(x, count, m, scale, nullptr);
}
BlockSums<double> Moments64(const double* x, std::size_t count, double m, double scale) {
  return sums_of<Wanted::moments, true, double>(x, count, m, scale, nullptr);
}
BlockSums<float> Weights32(const float* x, std::size_t count, float m, float scale, bool has_ones, float* out) {
  return has_ones ? sums_of<Wanted::weights, true, float>(x, count, m, scale, out)
                  : sums_of<Wanted::weights, false, float>(x, count, m, scale, out);
}
BlockSums<double> Weights64(const double* x, std::size_t count, double m, double scale, bool has_ones, double* out) {
  return has_ones ? sums_of<Wanted::weights, true, double>(x, count, m, scale, out)
                  : sums_of<Wanted::weights, false, double>(x, count, m, scale, out);
}
float Totals32(const float* x, std::size_t count, float m, float scale, float* out) {
  return totals_of<float>(x, count, m, scale, out);
}
double Totals64(const double* x, std::size_t count, double m, double scale, double* out) {
  return totals_of<double>(x, count, m, scale, out);
}
void Probabilities32(const float* x, std::size_t count, float m, float scale, float factor, float* out) {
  probabilities_of<float>(x, count, m, scale, factor, out);
}
void Probabilities64(const double* x, std::size_t count, double m, double scale, double factor, double* out) {
  probabilities_of<double>(x, count, m, scale, factor, out);
}
void Softmax32(ShortRows<float>& rows) { softmax_of<float>(rows); }
void Softmax64(ShortRows<double>& rows) { softmax_of<double>(rows); }
void States32(ShortRows<float>& rows) { states_of<float>(rows); }
void States64(ShortRows<double>& rows) { states_of<double>(rows); }
void Adaptive32(ShortRows<float>& rows) { adaptive_of<float>(rows); }
void Adaptive64(ShortRows<double>& rows) { adaptive_of<double>(rows); }
float Exp32(float z) { return exp_of<float>(z); }
double Exp64(double z) { return exp_of<double>(z); }
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
void WidenF16(const std::uint16_t* in, std::size_t count, float* out) {
  widen_of(in, count, out, [](auto d, auto bits) HWY_ATTR {
    return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, decltype(d)>(), bits));
  });
}
void WidenBf16(const std::uint16_t* in, std::size_t count, float* out) {
  widen_of(in, count, out, [](auto d, auto bits) HWY_ATTR {
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(hn::RebindToUnsigned<decltype(d)>(), bits)));
  });
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
HWY_EXPORT(Moments32);
HWY_EXPORT(Moments64);
HWY_EXPORT(Weights32);
HWY_EXPORT(Weights64);
HWY_EXPORT(Totals32);
HWY_EXPORT(Totals64);
HWY_EXPORT(Probabilities32);
HWY_EXPORT(Probabilities64);
HWY_EXPORT(Softmax32);
HWY_EXPORT(Softmax64);
HWY_EXPORT(States32);
HWY_EXPORT(States64);
HWY_EXPORT(Adaptive32);
HWY_EXPORT(Adaptive64);
HWY_EXPORT(Exp32);
HWY_EXPORT(Exp64);
HWY_EXPORT(Normalize32);
HWY_EXPORT(Normalize64);
HWY_EXPORT(Shift32);
HWY_EXPORT(Shift64);
HWY_EXPORT(WidenF16);
HWY_EXPORT(WidenBf16);

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
BlockSums<float> block_moments(const float* x, std::size_t count, float m, float scale) {
  return HWY_DYNAMIC_DISPATCH(Moments32)(x, count, m, scale);
}
BlockSums<double> block_moments(const double* x, std::size_t count, double m, double scale) {
  return HWY_DYNAMIC_DISPATCH(Moments64)(x, count, m, scale);
}
BlockSums<float> block_weights(const float* x, std::size_t count, float m, float scale, bool has_ones, float* out) {
  return HWY_DYNAMIC_DISPATCH(Weights32)(x, count, m, scale, has_ones, out);
}
BlockSums<double> block_weights(const double* x, std::size_t count, double m, double scale, bool has_ones,
                                double* out) {
  return HWY_DYNAMIC_DISPATCH(Weights64)(x, count, m, scale, has_ones, out);
}
float block_totals(const float* x, std::size_t count, float m, float scale, float* out) {
  return HWY_DYNAMIC_DISPATCH(Totals32)(x, count, m, scale, out);
}
double block_totals(const double* x, std::size_t count, double m, double scale, double* out) {
  return HWY_DYNAMIC_DISPATCH(Totals64)(x, count, m, scale, out);
}
void block_probabilities(const float* x, std::size_t count, float m, float scale, float factor, float* out) {
  HWY_DYNAMIC_DISPATCH(Probabilities32)(x, count, m, scale, factor, out);
}
void block_probabilities(const double* x, std::size_t count, double m, double scale, double factor, double* out) {
  HWY_DYNAMIC_DISPATCH(Probabilities64)(x, count, m, scale, factor, out);
}
void short_softmax(ShortRows<float>& rows) { HWY_DYNAMIC_DISPATCH(Softmax32)(rows); }
void short_softmax(ShortRows<double>& rows) { HWY_DYNAMIC_DISPATCH(Softmax64)(rows); }
void short_states(ShortRows<float>& rows) { HWY_DYNAMIC_DISPATCH(States32)(rows); }
void short_states(ShortRows<double>& rows) { HWY_DYNAMIC_DISPATCH(States64)(rows); }
void short_adaptive(ShortRows<float>& rows) { HWY_DYNAMIC_DISPATCH(Adaptive32)(rows); }
void short_adaptive(ShortRows<double>& rows) { HWY_DYNAMIC_DISPATCH(Adaptive64)(rows); }
float block_exp(float z) { return HWY_DYNAMIC_DISPATCH(Exp32)(z); }
double block_exp(double z) { return HWY_DYNAMIC_DISPATCH(Exp64)(z); }
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
void widen_f16(const std::uint16_t* in, std::size_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(WidenF16)(in, count, out);
}
void widen_bf16(const std::uint16_t* in, std::size_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(WidenBf16)(in, count, out);
}

}  // namespace softcheck::kernels
#endif
