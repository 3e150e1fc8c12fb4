// The passes over blocks on vectors, for the files that foreach_target compiles once per instruction set: included
// inside of each, hence the toggle instead of #pragma once.
#if defined(SOFTCHECK_KERNELS_CPU_BLOCK_LANES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SOFTCHECK_KERNELS_CPU_BLOCK_LANES_INL
#undef SOFTCHECK_KERNELS_CPU_BLOCK_LANES_INL
#else
#define SOFTCHECK_KERNELS_CPU_BLOCK_LANES_INL
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <limits>

#include "kernels/arithmetic/exp_constants.hpp"
#include "kernels/cpu/rows/block_passes.hpp"
#include "kernels/cpu/rows/exp_lanes.inl"
#include "kernels/cpu/machine.hpp"

HWY_BEFORE_NAMESPACE();
namespace softcheck::kernels::cpu {
namespace HWY_NAMESPACE {

/// The number of vectors of a block's lanes.
template <class T>
inline constexpr std::size_t block_vectors = block_lanes<T> / hn::MaxLanes(Tag<T>());

/// (x - m) scale of a block's lanes, from x on. A product with a scale of 1 is exact, and left out.
template <bool scaled, class T, class V>
HWY_INLINE void scaled_deviations(Tag<T> d, const T* x, V m, V scale, V (&z)[block_vectors<T>]) {
  for (std::size_t v = 0; v < block_vectors<T>; ++v) {
    const V below = hn::Sub(hn::LoadU(d, x + v * hn::MaxLanes(d)), m);
    z[v] = bounded_below_or_nan<T>(d, scaled ? hn::Mul(below, scale) : below);
  }
}

template <class T>
HWY_INLINE T maximum_of(const T* x, std::size_t count) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  constexpr std::size_t width = hn::MaxLanes(Tag<T>());
  V best[block_vectors<T>];
  for (std::size_t v = 0; v < block_vectors<T>; ++v) {
    best[v] = hn::Set(d, -std::numeric_limits<T>::infinity());
  }
  for (std::size_t i = 0; i < count; i += block_lanes<T>) {
    for (std::size_t v = 0; v < block_vectors<T>; ++v) {
      best[v] = hn::Max(best[v], hn::LoadU(d, x + i + v * width));
    }
  }
  for (std::size_t v = 1; v < block_vectors<T>; ++v) {
    best[0] = hn::Max(best[0], best[v]);
  }
  return hn::GetLane(hn::MaxOfLanes(d, best[0]));
}

enum class Wanted { sums, moments, weights };

template <Wanted wanted, bool scaled, bool has_ones, class T>
HWY_INLINE BlockSums<T> sums_at(const T* x, std::size_t count, T maximum, T scale_factor, T* out) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  constexpr std::size_t width = hn::MaxLanes(Tag<T>());
  constexpr std::size_t vectors = block_vectors<T>;
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
    V z[vectors];
    V w[vectors];
    scaled_deviations<scaled, T>(d, x + i, m, scale, z);
    scaled_exps<T>(d, z, w);
    for (std::size_t v = 0; v < vectors; ++v) {
      if constexpr (has_ones) {
        const auto below_one = hn::Ne(z[v], hn::Zero(d));
        below += hn::CountTrue(d, below_one);
        weights[v] = hn::IfThenElse(below_one, hn::Add(weights[v], w[v]), weights[v]);
      } else {
        weights[v] = hn::Add(weights[v], w[v]);
      }
      deviations[v] = hn::NegMulAdd(w[v], z[v], deviations[v]);
      if constexpr (wanted == Wanted::moments) {
        squares[v] = hn::MulAdd(hn::Mul(w[v], z[v]), z[v], squares[v]);
      }
      if constexpr (wanted == Wanted::weights) {
        hn::StoreU(w[v], d, out + i + v * width);
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
  constexpr std::size_t vectors = block_vectors<T>;
  const V m = hn::Set(d, maximum);
  const V scale = hn::Set(d, scale_factor);
  V totals[vectors];
  for (std::size_t v = 0; v < vectors; ++v) {
    totals[v] = hn::Zero(d);
  }
  for (std::size_t i = 0; i < count; i += block_lanes<T>) {
    V z[vectors];
    V w[vectors];
    scaled_deviations<true, T>(d, x + i, m, scale, z);
    scaled_exps<T>(d, z, w);
    for (std::size_t v = 0; v < vectors; ++v) {
      totals[v] = hn::Add(totals[v], w[v]);
      hn::StoreU(w[v], d, out + i + v * hn::MaxLanes(d));
    }
  }
  return sum_of_lanes<T>(d, totals);
}

template <class T>
HWY_INLINE void probabilities_of(const T* x, std::size_t count, T maximum, T scale_factor, T factor, T* out) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  constexpr std::size_t vectors = block_vectors<T>;
  const V m = hn::Set(d, maximum);
  const V scale = hn::Set(d, scale_factor);
  const V times = hn::Set(d, factor * ExpConstants<T>::unscale);
  for (std::size_t i = 0; i < count; i += block_lanes<T>) {
    V z[vectors];
    V w[vectors];
    scaled_deviations<true, T>(d, x + i, m, scale, z);
    scaled_exps<T>(d, z, w);
    for (std::size_t v = 0; v < vectors; ++v) {
      hn::StoreU(hn::Mul(w[v], times), d, out + i + v * hn::MaxLanes(d));
    }
  }
}

template <class T>
HWY_INLINE void normalize_of(const T* weights, std::size_t count, T factor, T* out) {
  const Tag<T> d;
  // Exact, as factor is no smaller than 1/n: the product rounds once.
  const hn::Vec<Tag<T>> times = hn::Set(d, factor * ExpConstants<T>::unscale);
  for (std::size_t i = 0; i < count; i += block_lanes<T>) {
    for (std::size_t v = 0; v < block_vectors<T>; ++v) {
      const std::size_t at = i + v * hn::MaxLanes(d);
      hn::StoreU(hn::Mul(hn::LoadU(d, weights + at), times), d, out + at);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace softcheck::kernels::cpu
HWY_AFTER_NAMESPACE();

#endif
