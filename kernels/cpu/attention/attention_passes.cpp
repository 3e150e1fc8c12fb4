#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention/attention_passes.cpp"
#include <hwy/foreach_target.h>
// foreach_target comes first: it includes this file once per instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/arithmetic/exp_constants.hpp"
#include "kernels/cpu/attention/attention_passes.hpp"
#include "kernels/cpu/attention/lane_sums.inl"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/rows/exp_lanes.inl"

HWY_BEFORE_NAMESPACE();
namespace softcheck::kernels::cpu {
namespace HWY_NAMESPACE {

template <class T>
using ColumnTag = hn::CappedTag<T, column_group<T>>;

// A score that leaves its row without a result.
template <class T, class V>
HWY_INLINE auto undefined_score(Tag<T> d, V score) {
  const V lowest = hn::Set(d, -std::numeric_limits<T>::infinity());
  return hn::Or(hn::IsNaN(score), hn::Eq(score, hn::Neg(lowest)));
}

// mask_row for a row that sees all keys. 0 x is 0 for a finite x, so one sum shows whether a score is not finite; only
// then it is searched for.
template <class T>
HWY_INLINE void scale_row(const TileScores<T>& tile, std::size_t row, T scale_factor, T* maximum) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  constexpr std::size_t lanes = hn::MaxLanes(Tag<T>());
  constexpr std::size_t vectors = row_group<T> / lanes;
  const V scale = hn::Set(d, scale_factor), zero = hn::Zero(d);
  T* x = tile.scores + (row - tile.first) * key_block;
  V best[vectors];
  V zeros[vectors];
  for (std::size_t v = 0; v < vectors; ++v) {
    best[v] = hn::Set(d, -std::numeric_limits<T>::infinity());
    zeros[v] = zero;
  }
  for (std::size_t i = 0; i < tile.width; i += row_group<T>) {
    for (std::size_t v = 0; v < vectors; ++v) {
      const V score = hn::Mul(scale, hn::LoadU(d, x + i + v * lanes));
      best[v] = hn::Max(best[v], score);
      zeros[v] = hn::MulAdd(score, zero, zeros[v]);
      hn::StoreU(score, d, x + i + v * lanes);
    }
  }
  for (std::size_t v = 1; v < vectors; ++v) {
    best[0] = hn::Max(best[0], best[v]);
    zeros[0] = hn::Add(zeros[0], zeros[v]);
  }
  maximum[row] = hn::GetLane(hn::MaxOfLanes(d, best[0]));
  if (hn::AllTrue(d, hn::Eq(zeros[0], zero))) {
    return;
  }
  for (std::size_t i = 0; i < tile.width; i += lanes) {
    if (!hn::AllFalse(d, undefined_score<T>(d, hn::LoadU(d, x + i)))) {
      tile.undefined[row] = T(1);
    }
  }
}

template <class T>
HWY_INLINE void mask_row(const TileScores<T>& tile, std::size_t row, T scale_factor, T* maximum) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  const V lowest = hn::Set(d, -std::numeric_limits<T>::infinity());
  const V scale = hn::Set(d, scale_factor);
  const V limit = hn::Set(d, static_cast<T>(tile.limit[row]));
  T* x = tile.scores + (row - tile.first) * key_block;
  const T* visible = tile.mask == nullptr ? nullptr : tile.mask + (row - tile.first) * key_block;
  V best = lowest;
  auto undefined = hn::Lt(hn::Zero(d), hn::Zero(d));
  for (std::size_t i = 0; i < tile.width; i += hn::Lanes(d)) {
    auto seen = hn::Lt(hn::Iota(d, static_cast<T>(i)), limit);
    if (visible != nullptr) {
      seen = hn::And(seen, hn::Ne(hn::LoadU(d, visible + i), hn::Zero(d)));
    }
    const V score = hn::IfThenElse(seen, hn::Mul(scale, hn::LoadU(d, x + i)), lowest);
    undefined = hn::Or(undefined, undefined_score<T>(d, score));
    best = hn::Max(best, score);
    hn::StoreU(score, d, x + i);
  }
  maximum[row] = hn::GetLane(hn::MaxOfLanes(d, best));
  if (!hn::AllFalse(d, undefined)) {
    tile.undefined[row] = T(1);
  }
}

template <class T>
HWY_INLINE void mask_rows(const TileScores<T>& tile, T scale, T* maximum) {
  for (std::size_t row = tile.first; row < tile.rows; ++row) {
    if (tile.mask == nullptr && tile.limit[row] == tile.width) {
      scale_row<T>(tile, row, scale, maximum);
    } else {
      mask_row<T>(tile, row, scale, maximum);
    }
  }
}

// Sums of a row, and of some rows lane by lane, until a vector has one row in each lane.
template <class T>
struct RowSums {
  static constexpr std::size_t vectors = block_lanes<T> / hn::MaxLanes(Tag<T>());
  hn::Vec<Tag<T>> ones[vectors], rest[vectors], deviations[vectors], squares[vectors];

  // Written out, because the compiler would generate a function outside this file's instruction set.
  HWY_INLINE RowSums() {
    for (std::size_t v = 0; v < vectors; ++v) {
      ones[v] = rest[v] = deviations[v] = squares[v] = hn::Zero(Tag<T>());
    }
  }
};
template <class T>
struct LaneSums {
  static constexpr std::size_t rows = hn::MaxLanes(Tag<T>());
  alignas(64) T ones[rows * rows];
  alignas(64) T rest[rows * rows];
  alignas(64) T deviations[rows * rows];
  alignas(64) T squares[rows * rows];
};

// The results that a call of weigh_scores needs.
struct Wishes {
  bool weights, deviations, squares;
};

// The weights of groups * block_lanes scores. Side by side they hide each other's latencies.
template <Wishes wishes, bool plain, std::size_t groups, class T, class V>
HWY_INLINE void weigh(const T* x, V m, V beta, T* weights, RowSums<T>& sums) {
  const Tag<T> d;
  constexpr std::size_t lanes = hn::MaxLanes(Tag<T>());
  constexpr std::size_t vectors = groups * RowSums<T>::vectors;
  V z[vectors];
  V w[vectors];
  for (std::size_t v = 0; v < vectors; ++v) {
    const V difference = hn::Sub(hn::LoadU(d, x + v * lanes), m);
    z[v] = bounded_below<T>(d, plain ? difference : hn::Mul(difference, beta));
  }
  scaled_exps<T>(d, z, w);
  for (std::size_t v = 0; v < vectors; ++v) {
    const std::size_t to = v % RowSums<T>::vectors;
    const auto one = hn::Eq(z[v], hn::Zero(d));
    w[v] = hn::Mul(w[v], hn::Set(d, ExpConstants<T>::unscale));
    if constexpr (wishes.weights) {
      hn::StoreU(w[v], d, weights + v * lanes);
    }
    sums.ones[to] = hn::Add(sums.ones[to], hn::IfThenElseZero(one, w[v]));
    sums.rest[to] = hn::Add(sums.rest[to], hn::IfThenZeroElse(one, w[v]));
    if constexpr (wishes.deviations) {
      sums.deviations[to] = hn::NegMulAdd(w[v], z[v], sums.deviations[to]);
    }
    if constexpr (wishes.squares) {
      sums.squares[to] = hn::MulAdd(hn::Mul(w[v], z[v]), z[v], sums.squares[to]);
    }
  }
}

template <Wishes wishes, bool plain, class T>
HWY_INLINE void weigh_row(const TileScores<T>& tile, std::size_t row, T maximum, T inverse_temperature,
                          LaneSums<T>& rows, std::size_t place) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  // Nothing seen: every score is -inf, and so is score - 0.
  const V m = hn::Set(d, maximum == -std::numeric_limits<T>::infinity() ? T(0) : maximum);
  const V beta = hn::Set(d, inverse_temperature);
  const T* x = tile.scores + (row - tile.first) * key_block;
  T* weights = wishes.weights ? tile.weights + (row - tile.first) * key_block : nullptr;
  RowSums<T> sums;
  // With this number of vectors, 16 registers also hold the constants.
  constexpr std::size_t groups = RowSums<T>::vectors < 4 ? 4 / RowSums<T>::vectors : 1;
  std::size_t i = 0;
  for (; i + groups * block_lanes<T> <= tile.width; i += groups * block_lanes<T>) {
    weigh<wishes, plain, groups>(x + i, m, beta, weights + i, sums);
  }
  for (; i < tile.width; i += block_lanes<T>) {
    weigh<wishes, plain, 1>(x + i, m, beta, weights + i, sums);
  }
  const std::size_t at = place * hn::MaxLanes(Tag<T>());
  hn::Store(sum_of_vectors<T>(d, sums.ones), d, rows.ones + at);
  hn::Store(sum_of_vectors<T>(d, sums.rest), d, rows.rest + at);
  if constexpr (wishes.deviations) {
    hn::Store(sum_of_vectors<T>(d, sums.deviations), d, rows.deviations + at);
  }
  if constexpr (wishes.squares) {
    hn::Store(sum_of_vectors<T>(d, sums.squares), d, rows.squares + at);
  }
}

template <Wishes wishes, class T>
HWY_INLINE void weigh_rows(const TileScores<T>& tile, const T* maximum, const T* beta, const TileState<T>& state) {
  const Tag<T> d;
  LaneSums<T> sums;
  for (std::size_t first = tile.first; first < tile.rows; first += LaneSums<T>::rows) {
    const std::size_t count = std::min(LaneSums<T>::rows, tile.rows - first);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t row = first + i;
      if (beta[row] == T(1)) {
        weigh_row<wishes, true>(tile, row, maximum[row], T(1), sums, i);
      } else {
        weigh_row<wishes, false>(tile, row, maximum[row], beta[row], sums, i);
      }
    }
    sum_rows<T>(d, sums.ones, count, state.ones + first);
    sum_rows<T>(d, sums.rest, count, state.rest + first);
    if constexpr (wishes.deviations) {
      sum_rows<T>(d, sums.deviations, count, state.deviations + first);
    }
    if constexpr (wishes.squares) {
      sum_rows<T>(d, sums.squares, count, state.squares + first);
    }
  }
}

template <class T>
HWY_INLINE void weigh_as_wished(const TileScores<T>& tile, const T* maximum, const T* beta, const TileState<T>& state) {
  if (tile.weights != nullptr) {
    if (state.deviations != nullptr) {
      weigh_rows<Wishes{true, true, false}>(tile, maximum, beta, state);
    } else {
      weigh_rows<Wishes{true, false, false}>(tile, maximum, beta, state);
    }
  } else if (state.squares != nullptr) {
    weigh_rows<Wishes{false, true, true}>(tile, maximum, beta, state);
  } else if (state.deviations != nullptr) {
    weigh_rows<Wishes{false, true, false}>(tile, maximum, beta, state);
  } else {
    weigh_rows<Wishes{false, false, false}>(tile, maximum, beta, state);
  }
}

// One side of a merge: its sums relative to the larger maximum m.
template <class T, class V>
struct Rescaled {
  V factor, ones, rest, deviations, squares;
};

template <class T>
HWY_INLINE auto rescaled_of(Tag<T> d, const TileState<T>& side, std::size_t i, hn::Vec<Tag<T>> m) {
  using V = hn::Vec<Tag<T>>;
  const V own = hn::Load(d, side.maximum + i);
  const V ones = hn::Load(d, side.ones + i);
  const V rest = hn::Load(d, side.rest + i);
  const V deviations = side.deviations == nullptr ? hn::Zero(d) : hn::Load(d, side.deviations + i);
  const V squares = side.squares == nullptr ? hn::Zero(d) : hn::Load(d, side.squares + i);
  const auto same = hn::Eq(own, m);
  const V z = bounded_below<T>(d, hn::Sub(own, m));
  const V factor = hn::Mul(scaled_exp<T>(d, z), hn::Set(d, ExpConstants<T>::unscale));
  const V sum = hn::Add(ones, rest);
  const V raised = hn::NegMulAdd(z, sum, deviations);
  return Rescaled<T, V>{
      hn::IfThenElse(same, hn::Set(d, T(1)), factor), hn::IfThenElseZero(same, ones),
      hn::IfThenElse(same, rest, hn::Mul(factor, sum)), hn::IfThenElse(same, deviations, hn::Mul(factor, raised)),
      // sum w (D - z)^2 = U - z (T + (T - z S)).
      hn::IfThenElse(same, squares, hn::Mul(factor, hn::NegMulAdd(z, hn::Add(deviations, raised), squares)))};
}

// O = a O + b O'; either side may be without keys.
template <class T>
HWY_INLINE void merge_values(T* left, const T* right, std::size_t width, T a, T b, bool left_seen) {
  const ColumnTag<T> d;
  const auto times = hn::Set(d, b);
  if (!left_seen) {
    std::copy(right, right + width, left);
    return;
  }
  const auto keep = hn::Set(d, a);
  for (std::size_t i = 0; i < width; i += hn::Lanes(d)) {
    hn::StoreU(hn::MulAdd(times, hn::LoadU(d, right + i), hn::Mul(keep, hn::LoadU(d, left + i))), d, left + i);
  }
}

template <class T>
HWY_INLINE void merge_of(const TileState<T>& left, const TileState<T>& right, std::size_t rows, std::size_t width) {
  const Tag<T> d;
  constexpr T none = -std::numeric_limits<T>::infinity();
  alignas(64) T a[tile_rows];
  alignas(64) T b[tile_rows];
  alignas(64) T before[tile_rows];
  std::copy(left.maximum, left.maximum + rows, before);
  for (std::size_t i = 0; i < rows; i += hn::Lanes(d)) {
    const auto m = hn::Max(hn::Load(d, left.maximum + i), hn::Load(d, right.maximum + i));
    const auto from_left = rescaled_of<T>(d, left, i, m);
    const auto from_right = rescaled_of<T>(d, right, i, m);
    hn::Store(m, d, left.maximum + i);
    hn::Store(hn::Add(from_left.ones, from_right.ones), d, left.ones + i);
    hn::Store(hn::Add(from_left.rest, from_right.rest), d, left.rest + i);
    if (left.deviations != nullptr) {
      hn::Store(hn::Add(from_left.deviations, from_right.deviations), d, left.deviations + i);
    }
    if (left.squares != nullptr) {
      hn::Store(hn::Add(from_left.squares, from_right.squares), d, left.squares + i);
    }
    hn::Store(from_left.factor, d, a + i);
    hn::Store(from_right.factor, d, b + i);
  }
  for (std::size_t row = 0; width != 0 && row < rows; ++row) {
    if (right.maximum[row] != none) {
      merge_values(left.values + row * width, right.values + row * width, width, a[row], b[row], before[row] != none);
    }
  }
}

// One plain function per pass and type, for the dispatch table.
void Mask32(const TileScores<float>& tile, float scale, float* maximum) { mask_rows<float>(tile, scale, maximum); }
void Mask64(const TileScores<double>& tile, double scale, double* maximum) { mask_rows<double>(tile, scale, maximum); }
void Weigh32(const TileScores<float>& tile, const float* maximum, const float* beta, const TileState<float>& state) {
  weigh_as_wished(tile, maximum, beta, state);
}
void Weigh64(const TileScores<double>& tile, const double* maximum, const double* beta,
             const TileState<double>& state) {
  weigh_as_wished(tile, maximum, beta, state);
}
void Merge32(const TileState<float>& left, const TileState<float>& right, std::size_t rows, std::size_t width) {
  merge_of<float>(left, right, rows, width);
}
void Merge64(const TileState<double>& left, const TileState<double>& right, std::size_t rows, std::size_t width) {
  merge_of<double>(left, right, rows, width);
}

}  // namespace HWY_NAMESPACE
}  // namespace softcheck::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace softcheck::kernels::cpu {

HWY_EXPORT(Mask32);
HWY_EXPORT(Mask64);
HWY_EXPORT(Weigh32);
HWY_EXPORT(Weigh64);
HWY_EXPORT(Merge32);
HWY_EXPORT(Merge64);

void mask_scores(const TileScores<float>& tile, float scale, float* maximum) {
  HWY_DYNAMIC_DISPATCH(Mask32)(tile, scale, maximum);
}
void mask_scores(const TileScores<double>& tile, double scale, double* maximum) {
  HWY_DYNAMIC_DISPATCH(Mask64)(tile, scale, maximum);
}
void weigh_scores(const TileScores<float>& tile, const float* maximum, const float* beta,
                  const TileState<float>& state) {
  HWY_DYNAMIC_DISPATCH(Weigh32)(tile, maximum, beta, state);
}
void weigh_scores(const TileScores<double>& tile, const double* maximum, const double* beta,
                  const TileState<double>& state) {
  HWY_DYNAMIC_DISPATCH(Weigh64)(tile, maximum, beta, state);
}
void merge_states(const TileState<float>& left, const TileState<float>& right, std::size_t rows, std::size_t width) {
  HWY_DYNAMIC_DISPATCH(Merge32)(left, right, rows, width);
}
void merge_states(const TileState<double>& left, const TileState<double>& right, std::size_t rows, std::size_t width) {
  HWY_DYNAMIC_DISPATCH(Merge64)(left, right, rows, width);
}

}  // namespace softcheck::kernels::cpu
#endif
