#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/strict/row_passes.cpp"
#include <hwy/foreach_target.h>
// foreach_target comes first: it includes this file once per instruction set.
#include <hwy/highway.h>

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
HWY_INLINE void items_with(BlockState<T>& state, const T* x, std::size_t count, T scale_factor) {
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

template <class T>
HWY_ATTR void items_of(BlockState<T>& state, const T* x, std::size_t count, T scale, bool deviations) {
  deviations ? items_with<true>(state, x, count, scale) : items_with<false>(state, x, count, scale);
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
HWY_ATTR RowStatistics<T> merge_of(BlockState<T>& state, std::size_t used, T scale_factor) {
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
HWY_ATTR CompensatedSum<T> merge_sums_of(BlockSums<T>& sums, std::size_t used) {
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
HWY_ATTR void weights_of(BlockSums<T>& sums, const T* x, std::size_t count, T maximum, T scale_factor) {
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
HWY_ATTR void write_of(const T* x, std::size_t count, T maximum, T scale_factor, T last_factor, T* out) {
  const Tag<T> d;
  const Lanes<T> m = hn::Set(d, maximum), scale = hn::Set(d, scale_factor), factor = hn::Set(d, last_factor);
  for (std::size_t i = 0; i < count; i += lanes<T>) {
    const Lanes<T> weight = scaled_exponential_lanes<T>(hn::Mul(hn::Sub(hn::LoadU(d, x + i), m), scale));
    hn::StoreU(hn::Mul(hn::Mul(weight, factor), hn::Set(d, ExpConstants<T>::unscale)), d, out + i);
  }
}

template <class T>
HWY_ATTR void logs_of(const T* x, std::size_t count, T maximum, T scale_factor, T shifted_by, T* out) {
  const Tag<T> d;
  const Lanes<T> m = hn::Set(d, maximum), scale = hn::Set(d, scale_factor), shift = hn::Set(d, shifted_by);
  for (std::size_t i = 0; i < count; i += lanes<T>) {
    hn::StoreU(hn::Sub(hn::Mul(hn::Sub(hn::LoadU(d, x + i), m), scale), shift), d, out + i);
  }
}

template <class T>
inline constexpr RowPasses<T> row_passes_of = {items_of<T>,   merge_of<T>, merge_sums_of<T>,
                                               weights_of<T>, write_of<T>, logs_of<T>};

const RowPasses<float>* row_passes_f32() { return &row_passes_of<float>; }
const RowPasses<double>* row_passes_f64() { return &row_passes_of<double>; }

}  // namespace HWY_NAMESPACE
}  // namespace softcheck::kernels::strict
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace softcheck::kernels::strict {

HWY_EXPORT(row_passes_f32);
HWY_EXPORT(row_passes_f64);

template <>
const RowPasses<float>& row_passes<float>() {
  return *HWY_DYNAMIC_DISPATCH(row_passes_f32)();
}
template <>
const RowPasses<double>& row_passes<double>() {
  return *HWY_DYNAMIC_DISPATCH(row_passes_f64)();
}

}  // namespace softcheck::kernels::strict
#endif
