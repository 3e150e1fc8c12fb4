#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/strict/row_passes.cpp"
#include <hwy/foreach_target.h>
// foreach_target comes first: it includes this file once per instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <bit>

#include "kernels/strict/block_state.hpp"
#include "kernels/strict/strict_lanes.inl"

HWY_BEFORE_NAMESPACE();
namespace softcheck::kernels::strict {
namespace HWY_NAMESPACE {

template <class T>
struct StateLanes {
  Lanes<T> maximum;
  SumLanes<T> weights, deviations;
};

template <class T, class Mask>
HWY_INLINE SumLanes<T> chosen(Mask mask, const SumLanes<T>& yes, const SumLanes<T>& no) {
  return {hn::IfThenElse(mask, yes.value, no.value), hn::IfThenElse(mask, yes.rest, no.rest)};
}

template <class T, class Mask>
HWY_INLINE StateLanes<T> chosen(Mask mask, const StateLanes<T>& yes, const StateLanes<T>& no) {
  return {hn::IfThenElse(mask, yes.maximum, no.maximum), chosen<T>(mask, yes.weights, no.weights),
          chosen<T>(mask, yes.deviations, no.deviations)};
}

/// raise_maximum() of a state without items, too: it has the factor 0.
template <bool deviations, class T>
HWY_INLINE StateLanes<T> raised(StateLanes<T> s, Lanes<T> maximum, Lanes<T> scale) {
  const Tag<T> d;
  const Lanes<T> z = hn::Mul(hn::Sub(s.maximum, maximum), scale);
  const Lanes<T> factor = exponential_lanes<T>(z);
  const auto some = hn::Gt(factor, hn::Zero(d));
  s.weights.add(hn::Set(d, T(1)));
  if constexpr (deviations) {
    s.deviations.add(hn::Mul(hn::Neg(z), s.weights.total()));
    s.deviations.value = hn::IfThenElseZero(some, hn::Mul(s.deviations.value, factor));
    s.deviations.rest = hn::IfThenElseZero(some, hn::Mul(s.deviations.rest, factor));
  }
  s.weights.value = hn::IfThenElseZero(some, hn::Mul(s.weights.value, factor));
  s.weights.rest = hn::IfThenElseZero(some, hn::Mul(s.weights.rest, factor));
  s.maximum = maximum;
  return s;
}

/// add_items(). What is undefined has the maximum NaN from there on, whatever its sums.
template <bool deviations, class T>
HWY_INLINE void add_group(StateLanes<T>& s, const T* from, Lanes<T> scale) {
  const Tag<T> d;
  Lanes<T> x[items_at_once];
  hn::LoadInterleaved4(d, from, x[0], x[1], x[2], x[3]);
  const Lanes<T> infinity = hn::Set(d, std::numeric_limits<T>::infinity());
  const auto defined = hn::And(hn::And(hn::Lt(x[0], infinity), hn::Lt(x[1], infinity)),
                               hn::And(hn::Lt(x[2], infinity), hn::Lt(x[3], infinity)));
  s.maximum = hn::IfThenElse(defined, s.maximum, hn::Set(d, not_a_number<T>()));
  const Lanes<T> largest = hn::Max(hn::Max(x[0], x[1]), hn::Max(x[2], x[3]));
  auto rises = hn::Gt(largest, s.maximum);
  const bool any_rises = !hn::AllFalse(d, rises);
  if (any_rises) s = chosen<T>(rises, raised<deviations, T>(s, largest, scale), s);
  Lanes<T> w[items_at_once], wd[items_at_once];
  for (int i = 0; i < items_at_once; ++i) {
    const Lanes<T> z = hn::Mul(hn::Sub(x[i], s.maximum), scale);
    w[i] = exponential_lanes<T>(z);
    if (any_rises) {
      // The first that is the new maximum is the one left out.
      const auto left_out = hn::And(rises, hn::Eq(x[i], largest));
      w[i] = hn::IfThenZeroElse(left_out, w[i]);
      rises = hn::AndNot(left_out, rises);
    }
    if constexpr (deviations) wd[i] = hn::Mul(w[i], hn::IfThenElseZero(hn::Gt(w[i], hn::Zero(d)), hn::Neg(z)));
  }
  s.weights.add(hn::Add(hn::Add(w[0], w[1]), hn::Add(w[2], w[3])));
  if constexpr (deviations) s.deviations.add(hn::Add(hn::Add(wd[0], wd[1]), hn::Add(wd[2], wd[3])));
}

template <bool deviations, class T>
HWY_INLINE void items_of(BlockState<T>& state, const T* x, std::size_t count, T scale_factor) {
  const Tag<T> d;
  const Lanes<T> scale = hn::Set(d, scale_factor);
  for (std::size_t thread = 0; thread < threads_with(count); thread += lanes<T>) {
    StateLanes<T> s{hn::LoadU(d, state.maximum + thread), load_sums(state.weights, thread),
                    load_sums(state.deviations, thread)};
    for (std::size_t i = thread * items_at_once; i < count; i += items_of_block) {
      add_group<deviations, T>(s, x + i, scale);
    }
    hn::StoreU(s.maximum, d, state.maximum + thread);
    store_sums(s.weights, state.weights, thread);
    if constexpr (deviations) store_sums(s.deviations, state.deviations, thread);
  }
}

/// merged().
template <class T>
HWY_INLINE StateLanes<T> merged_lanes(const StateLanes<T>& left, const StateLanes<T>& right, Lanes<T> scale) {
  const auto swapped = hn::Lt(left.maximum, right.maximum);
  StateLanes<T> larger = chosen<T>(swapped, right, left);
  const StateLanes<T> smaller = chosen<T>(swapped, left, right);
  const StateLanes<T> other = raised<true, T>(smaller, larger.maximum, scale);
  larger.weights.add(other.weights);
  larger.deviations.add(other.deviations);
  larger.maximum = hn::IfThenElse(hn::IsNaN(smaller.maximum), smaller.maximum, larger.maximum);
  return larger;
}

template <class T>
HWY_INLINE RowStatistics<T> merge_of(BlockState<T>& state, std::size_t used, T scale_factor) {
  const Tag<T> d;
  const Lanes<T> scale = hn::Set(d, scale_factor);
  for (std::size_t pairs = std::bit_ceil(used) / 2; pairs > 0; pairs /= 2) {
    for (std::size_t i = 0; i < pairs; i += lanes<T>) {
      StateLanes<T> left, right;
      hn::LoadInterleaved2(d, state.maximum + 2 * i, left.maximum, right.maximum);
      const SumPair<T> weights = load_pairs(state.weights, i), deviations = load_pairs(state.deviations, i);
      left.weights = weights.left, right.weights = weights.right;
      left.deviations = deviations.left, right.deviations = deviations.right;
      const StateLanes<T> both = merged_lanes<T>(left, right, scale);
      hn::StoreU(both.maximum, d, state.maximum + i);
      store_sums(both.weights, state.weights, i);
      store_sums(both.deviations, state.deviations, i);
    }
  }
  return {state.maximum[0],
          {state.weights.value[0], state.weights.rest[0]},
          {state.deviations.value[0], state.deviations.rest[0]},
          {0, 0}};
}

template <class T>
HWY_INLINE CompensatedSum<T> merge_of(BlockSums<T>& sums, std::size_t used) {
  for (std::size_t pairs = std::bit_ceil(used) / 2; pairs > 0; pairs /= 2) {
    for (std::size_t i = 0; i < pairs; i += lanes<T>) {
      SumPair<T> pair = load_pairs(sums, i);
      pair.left.add(pair.right);
      store_sums(pair.left, sums, i);
    }
  }
  return {sums.value[0], sums.rest[0]};
}

template <class T>
HWY_INLINE void weights_of(BlockSums<T>& sums, const T* x, std::size_t count, T maximum, T scale_factor) {
  const Tag<T> d;
  const Lanes<T> m = hn::Set(d, maximum), scale = hn::Set(d, scale_factor);
  for (std::size_t thread = 0; thread < threads_with(count); thread += lanes<T>) {
    SumLanes<T> own = load_sums(sums, thread);
    for (std::size_t i = thread * items_at_once; i < count; i += items_of_block) {
      Lanes<T> items[items_at_once];
      hn::LoadInterleaved4(d, x + i, items[0], items[1], items[2], items[3]);
      for (const Lanes<T> item : items) own.add(exponential_lanes<T>(hn::Mul(hn::Sub(item, m), scale)));
    }
    store_sums(own, sums, thread);
  }
}

template <class T>
HWY_INLINE void write_of(const T* x, std::size_t count, T maximum, T scale_factor, T last_factor, T* out) {
  const Tag<T> d;
  const Lanes<T> m = hn::Set(d, maximum), scale = hn::Set(d, scale_factor), factor = hn::Set(d, last_factor);
  for (std::size_t i = 0; i < count; i += lanes<T>) {
    const Lanes<T> weight = scaled_exponential_lanes<T>(hn::Mul(hn::Sub(hn::LoadU(d, x + i), m), scale));
    hn::StoreU(hn::Mul(hn::Mul(weight, factor), hn::Set(d, ExpConstants<T>::unscale)), d, out + i);
  }
}

template <class T>
HWY_INLINE void logs_of(const T* x, std::size_t count, T maximum, T scale_factor, T shifted_by, T* out) {
  const Tag<T> d;
  const Lanes<T> m = hn::Set(d, maximum), scale = hn::Set(d, scale_factor), shift = hn::Set(d, shifted_by);
  for (std::size_t i = 0; i < count; i += lanes<T>) {
    hn::StoreU(hn::Sub(hn::Mul(hn::Sub(hn::LoadU(d, x + i), m), scale), shift), d, out + i);
  }
}

void add_items_f32(BlockState<float>& state, const float* x, std::size_t count, float scale, bool deviations) {
  deviations ? items_of<true>(state, x, count, scale) : items_of<false>(state, x, count, scale);
}
void add_items_f64(BlockState<double>& state, const double* x, std::size_t count, double scale, bool deviations) {
  deviations ? items_of<true>(state, x, count, scale) : items_of<false>(state, x, count, scale);
}
RowStatistics<float> merge_states_f32(BlockState<float>& state, std::size_t used, float scale) {
  return merge_of(state, used, scale);
}
RowStatistics<double> merge_states_f64(BlockState<double>& state, std::size_t used, double scale) {
  return merge_of(state, used, scale);
}
CompensatedSum<float> merge_sums_f32(BlockSums<float>& sums, std::size_t used) { return merge_of(sums, used); }
CompensatedSum<double> merge_sums_f64(BlockSums<double>& sums, std::size_t used) { return merge_of(sums, used); }
void add_weights_f32(BlockSums<float>& sums, const float* x, std::size_t count, float m, float scale) {
  weights_of(sums, x, count, m, scale);
}
void add_weights_f64(BlockSums<double>& sums, const double* x, std::size_t count, double m, double scale) {
  weights_of(sums, x, count, m, scale);
}
void write_weights_f32(const float* x, std::size_t count, float m, float scale, float factor, float* out) {
  write_of(x, count, m, scale, factor, out);
}
void write_weights_f64(const double* x, std::size_t count, double m, double scale, double factor, double* out) {
  write_of(x, count, m, scale, factor, out);
}
void write_logs_f32(const float* x, std::size_t count, float m, float scale, float shift, float* out) {
  logs_of(x, count, m, scale, shift, out);
}
void write_logs_f64(const double* x, std::size_t count, double m, double scale, double shift, double* out) {
  logs_of(x, count, m, scale, shift, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace softcheck::kernels::strict
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace softcheck::kernels::strict {

HWY_EXPORT(add_items_f32);
HWY_EXPORT(add_items_f64);
HWY_EXPORT(merge_states_f32);
HWY_EXPORT(merge_states_f64);
HWY_EXPORT(merge_sums_f32);
HWY_EXPORT(merge_sums_f64);
HWY_EXPORT(add_weights_f32);
HWY_EXPORT(add_weights_f64);
HWY_EXPORT(write_weights_f32);
HWY_EXPORT(write_weights_f64);
HWY_EXPORT(write_logs_f32);
HWY_EXPORT(write_logs_f64);

namespace {

// The first used entries, or all that one vector of pairs reads: beyond those that take part there are no items. What a
// level of merges writes beyond its pairs no later pair reads.
template <class T>
std::size_t merged_entries(std::size_t used) {
  return std::max(std::bit_ceil(used), 2 * most_lanes<T>);
}

template <class T>
void clear_sums(BlockSums<T>& sums, std::size_t used) {
  std::fill_n(sums.value, merged_entries<T>(used), T(0));
  std::fill_n(sums.rest, merged_entries<T>(used), T(0));
}

template <class T>
void clear_state(BlockState<T>& state, std::size_t used) {
  std::fill_n(state.maximum, merged_entries<T>(used), minus_infinity<T>());
  clear_sums(state.weights, used);
  clear_sums(state.deviations, used);
}

}  // namespace

void clear(BlockState<float>& state, std::size_t used) { clear_state(state, used); }
void clear(BlockState<double>& state, std::size_t used) { clear_state(state, used); }
void clear(BlockSums<float>& sums, std::size_t used) { clear_sums(sums, used); }
void clear(BlockSums<double>& sums, std::size_t used) { clear_sums(sums, used); }

void add_items(BlockState<float>& state, const float* x, std::size_t count, float scale, bool deviations) {
  HWY_DYNAMIC_DISPATCH(add_items_f32)(state, x, count, scale, deviations);
}
void add_items(BlockState<double>& state, const double* x, std::size_t count, double scale, bool deviations) {
  HWY_DYNAMIC_DISPATCH(add_items_f64)(state, x, count, scale, deviations);
}
RowStatistics<float> merge_threads(BlockState<float>& state, std::size_t used, float scale) {
  return HWY_DYNAMIC_DISPATCH(merge_states_f32)(state, used, scale);
}
RowStatistics<double> merge_threads(BlockState<double>& state, std::size_t used, double scale) {
  return HWY_DYNAMIC_DISPATCH(merge_states_f64)(state, used, scale);
}
CompensatedSum<float> merge_threads(BlockSums<float>& sums, std::size_t used) {
  return HWY_DYNAMIC_DISPATCH(merge_sums_f32)(sums, used);
}
CompensatedSum<double> merge_threads(BlockSums<double>& sums, std::size_t used) {
  return HWY_DYNAMIC_DISPATCH(merge_sums_f64)(sums, used);
}
void add_weights(BlockSums<float>& sums, const float* x, std::size_t count, float m, float scale) {
  HWY_DYNAMIC_DISPATCH(add_weights_f32)(sums, x, count, m, scale);
}
void add_weights(BlockSums<double>& sums, const double* x, std::size_t count, double m, double scale) {
  HWY_DYNAMIC_DISPATCH(add_weights_f64)(sums, x, count, m, scale);
}
void write_weights(const float* x, std::size_t count, float m, float scale, float factor, float* out) {
  HWY_DYNAMIC_DISPATCH(write_weights_f32)(x, count, m, scale, factor, out);
}
void write_weights(const double* x, std::size_t count, double m, double scale, double factor, double* out) {
  HWY_DYNAMIC_DISPATCH(write_weights_f64)(x, count, m, scale, factor, out);
}
void write_logs(const float* x, std::size_t count, float m, float scale, float shift, float* out) {
  HWY_DYNAMIC_DISPATCH(write_logs_f32)(x, count, m, scale, shift, out);
}
void write_logs(const double* x, std::size_t count, double m, double scale, double shift, double* out) {
  HWY_DYNAMIC_DISPATCH(write_logs_f64)(x, count, m, scale, shift, out);
}

}  // namespace softcheck::kernels::strict
#endif
