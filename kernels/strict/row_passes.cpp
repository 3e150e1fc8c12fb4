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

constexpr bool has_deviations(Moments moments) { return moments >= Moments::deviations; }
constexpr bool has_squares(Moments moments) { return moments == Moments::squares; }

/// RowStatistics of as many threads as a vector has lanes.
template <class T>
struct StateLanes {
  Lanes<T> maximum;
  SumLanes<T> weights, deviations, squares;
};

/// States with sums of 0. The sums that moments leaves out stay 0, and no function below reads them.
template <class T>
HWY_INLINE StateLanes<T> state_of(Lanes<T> maximum) {
  return {maximum, no_sums<T>(), no_sums<T>(), no_sums<T>()};
}

template <class T, class Mask>
HWY_INLINE SumLanes<T> chosen(Mask mask, const SumLanes<T>& yes, const SumLanes<T>& no) {
  return {hn::IfThenElse(mask, yes.value, no.value), hn::IfThenElse(mask, yes.rest, no.rest)};
}

template <Moments moments, class T, class Mask>
HWY_INLINE StateLanes<T> chosen_state(Mask mask, const StateLanes<T>& yes, const StateLanes<T>& no) {
  StateLanes<T> state = state_of<T>(hn::IfThenElse(mask, yes.maximum, no.maximum));
  state.weights = chosen<T>(mask, yes.weights, no.weights);
  if constexpr (has_deviations(moments)) state.deviations = chosen<T>(mask, yes.deviations, no.deviations);
  if constexpr (has_squares(moments)) state.squares = chosen<T>(mask, yes.squares, no.squares);
  return state;
}

template <class T, class Mask>
HWY_INLINE void scale_where(Mask some, const PartsLanes<T>& factor, SumLanes<T>& sums) {
  const SumLanes<T> scaled = sums.scaled(factor);
  sums = {hn::IfThenElseZero(some, scaled.value), hn::IfThenElseZero(some, scaled.rest)};
}

/// raise_maximum(). A state without items needs no case of its own: its maximum is -inf, so its factor is 0.
template <Moments moments, class T>
HWY_INLINE StateLanes<T> raised(StateLanes<T> s, Lanes<T> maximum, Lanes<T> scale) {
  const Tag<T> d;
  const Lanes<T> z = hn::Mul(hn::Sub(s.maximum, maximum), scale), deviation = hn::Neg(z);
  const PartsLanes<T> factor = exponential_parts_lanes<T>(z);
  const auto some = hn::Gt(factor.value, hn::Zero(d));
  s.weights.add(hn::Set(d, T(1)));
  const Lanes<T> sum = s.weights.total();
  if constexpr (has_squares(moments)) {
    const Lanes<T> twice = hn::Mul(hn::Set(d, T(2)), s.deviations.total());
    s.squares.add(hn::Mul(deviation, fused_lanes<T>(deviation, sum, twice)));
    scale_where<T>(some, factor, s.squares);
  }
  if constexpr (has_deviations(moments)) {
    s.deviations.add(hn::Mul(deviation, sum));
    scale_where<T>(some, factor, s.deviations);
  }
  scale_where<T>(some, factor, s.weights);
  s.maximum = maximum;
  return s;
}

template <Moments moments, class T>
HWY_INLINE void store_state(const StateLanes<T>& s, BlockState<T>& state, std::size_t thread) {
  hn::StoreU(s.maximum, Tag<T>(), state.maximum + thread);
  store_sums(s.weights, state.weights, thread);
  if constexpr (has_deviations(moments)) store_sums(s.deviations, state.deviations, thread);
  if constexpr (has_squares(moments)) store_sums(s.squares, state.squares, thread);
}

template <class T>
HWY_INLINE Lanes<T> added_in_halves(const Lanes<T> (&x)[items_at_once]) {
  return hn::Add(hn::Add(x[0], x[1]), hn::Add(x[2], x[3]));
}

/// add_items(). A thread that has read NaN or +inf has the maximum NaN from then on, and its sums no longer matter.
template <Moments moments, class T>
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
  if (any_rises) s = chosen_state<moments, T>(rises, raised<moments, T>(s, largest, scale), s);
  Lanes<T> w[items_at_once], wd[items_at_once], wdd[items_at_once];
  for (int i = 0; i < items_at_once; ++i) {
    const Lanes<T> z = hn::Mul(hn::Sub(x[i], s.maximum), scale);
    w[i] = exponential_lanes<T>(z);
    if (any_rises) {
      // The first item that is the new maximum is the one left out of the weights.
      const auto left_out = hn::And(rises, hn::Eq(x[i], largest));
      w[i] = hn::IfThenZeroElse(left_out, w[i]);
      rises = hn::AndNot(left_out, rises);
    }
    const Lanes<T> deviation = hn::IfThenElseZero(hn::Gt(w[i], hn::Zero(d)), hn::Neg(z));
    if constexpr (has_deviations(moments)) wd[i] = hn::Mul(w[i], deviation);
    if constexpr (has_squares(moments)) wdd[i] = hn::Mul(wd[i], deviation);
  }
  s.weights.add(added_in_halves<T>(w));
  if constexpr (has_deviations(moments)) s.deviations.add(added_in_halves<T>(wd));
  if constexpr (has_squares(moments)) s.squares.add(added_in_halves<T>(wdd));
}

template <Moments moments, class T>
HWY_INLINE void items_with(BlockState<T>& state, const T* x, std::size_t count, T scale_factor) {
  const Tag<T> d;
  const Lanes<T> scale = hn::Set(d, scale_factor);
  for (std::size_t thread = 0; thread < threads_with(count); thread += lanes<T>) {
    StateLanes<T> s = state_of<T>(hn::LoadU(d, state.maximum + thread));
    s.weights = load_sums(state.weights, thread);
    if constexpr (has_deviations(moments)) s.deviations = load_sums(state.deviations, thread);
    if constexpr (has_squares(moments)) s.squares = load_sums(state.squares, thread);
    for (std::size_t i = thread * items_at_once; i < count; i += items_of_block) {
      add_group<moments, T>(s, x + i, scale);
    }
    store_state<moments, T>(s, state, thread);
  }
}

template <class T>
HWY_ATTR void items_of(BlockState<T>& state, const T* x, std::size_t count, T scale, Moments moments) {
  switch (moments) {
    case Moments::weights:
      return items_with<Moments::weights>(state, x, count, scale);
    case Moments::deviations:
      return items_with<Moments::deviations>(state, x, count, scale);
    case Moments::squares:
      return items_with<Moments::squares>(state, x, count, scale);
  }
}

/// merged().
template <Moments moments, class T>
HWY_INLINE StateLanes<T> merged_lanes(const StateLanes<T>& left, const StateLanes<T>& right, Lanes<T> scale) {
  const auto swapped = hn::Lt(left.maximum, right.maximum);
  StateLanes<T> larger = chosen_state<moments, T>(swapped, right, left);
  const StateLanes<T> smaller = chosen_state<moments, T>(swapped, left, right);
  const StateLanes<T> other = raised<moments, T>(smaller, larger.maximum, scale);
  larger.weights.add(other.weights);
  if constexpr (has_deviations(moments)) larger.deviations.add(other.deviations);
  if constexpr (has_squares(moments)) larger.squares.add(other.squares);
  larger.maximum = hn::IfThenElse(hn::IsNaN(smaller.maximum), smaller.maximum, larger.maximum);
  return larger;
}

template <Moments moments, class T>
HWY_INLINE RowStatistics<T> merge_with(BlockState<T>& state, std::size_t used, T scale_factor) {
  const Tag<T> d;
  const Lanes<T> scale = hn::Set(d, scale_factor);
  for (std::size_t pairs = std::bit_ceil(used) / 2; pairs > 0; pairs /= 2) {
    for (std::size_t i = 0; i < pairs; i += lanes<T>) {
      StateLanes<T> left = state_of<T>(hn::Zero(d)), right = left;
      hn::LoadInterleaved2(d, state.maximum + 2 * i, left.maximum, right.maximum);
      load_pair(state.weights, i, left.weights, right.weights);
      if constexpr (has_deviations(moments)) load_pair(state.deviations, i, left.deviations, right.deviations);
      if constexpr (has_squares(moments)) load_pair(state.squares, i, left.squares, right.squares);
      store_state<moments, T>(merged_lanes<moments, T>(left, right, scale), state, i);
    }
  }
  const auto first = [](const BlockSums<T>& sums) { return CompensatedSum<T>{sums.value[0], sums.rest[0]}; };
  RowStatistics<T> all = {state.maximum[0], first(state.weights), {0, 0}, {0, 0}};
  if constexpr (has_deviations(moments)) all.deviations = first(state.deviations);
  if constexpr (has_squares(moments)) all.squares = first(state.squares);
  return all;
}

template <class T>
HWY_ATTR RowStatistics<T> merge_of(BlockState<T>& state, std::size_t used, T scale, Moments moments) {
  switch (moments) {
    case Moments::weights:
      return merge_with<Moments::weights>(state, used, scale);
    case Moments::deviations:
      return merge_with<Moments::deviations>(state, used, scale);
    case Moments::squares:
      break;
  }
  return merge_with<Moments::squares>(state, used, scale);
}

template <class T>
HWY_ATTR CompensatedSum<T> merge_sums_of(BlockSums<T>& sums, std::size_t used) {
  for (std::size_t pairs = std::bit_ceil(used) / 2; pairs > 0; pairs /= 2) {
    for (std::size_t i = 0; i < pairs; i += lanes<T>) {
      SumLanes<T> left = no_sums<T>(), right = no_sums<T>();
      load_pair(sums, i, left, right);
      left.add(right);
      store_sums(left, sums, i);
    }
  }
  return {sums.value[0], sums.rest[0]};
}

HWY_ATTR void weights_of(BlockSums<double>& sums, const double* x, std::size_t count, double maximum,
                         double scale_factor) {
  using T = double;
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

HWY_ATTR void write_of(const double* x, std::size_t count, double maximum, double scale_factor, double last_factor,
                       double* out) {
  using T = double;
  const Tag<T> d;
  const Lanes<T> m = hn::Set(d, maximum), scale = hn::Set(d, scale_factor), factor = hn::Set(d, last_factor);
  for (std::size_t i = 0; i < count; i += lanes<T>) {
    const Lanes<T> weight = scaled_exponential_lanes<T>(hn::Mul(hn::Sub(hn::LoadU(d, x + i), m), scale));
    hn::StoreU(hn::Mul(hn::Mul(weight, factor), hn::Set(d, ExpConstants<T>::unscale)), d, out + i);
  }
}

HWY_ATTR void logs_of(const double* x, std::size_t count, double maximum, double scale_factor, double shifted_by,
                      double* out) {
  using T = double;
  const Tag<T> d;
  const Lanes<T> m = hn::Set(d, maximum), scale = hn::Set(d, scale_factor), shift = hn::Set(d, shifted_by);
  for (std::size_t i = 0; i < count; i += lanes<T>) {
    hn::StoreU(hn::Sub(hn::Mul(hn::Sub(hn::LoadU(d, x + i), m), scale), shift), d, out + i);
  }
}

template <class T>
inline constexpr RowPasses<T> row_passes_of = {items_of<T>, merge_of<T>, merge_sums_of<T>};

const RowPasses<float>* row_passes_f32() { return &row_passes_of<float>; }
const RowPasses<double>* row_passes_f64() { return &row_passes_of<double>; }
const F64Passes* f64_passes_of() {
  static constexpr F64Passes passes = {weights_of, write_of, logs_of};
  return &passes;
}

}  // namespace HWY_NAMESPACE
}  // namespace softcheck::kernels::strict
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace softcheck::kernels::strict {

HWY_EXPORT(row_passes_f32);
HWY_EXPORT(row_passes_f64);
HWY_EXPORT(f64_passes_of);

template <>
const RowPasses<float>& row_passes<float>() {
  return *HWY_DYNAMIC_DISPATCH(row_passes_f32)();
}
template <>
const RowPasses<double>& row_passes<double>() {
  return *HWY_DYNAMIC_DISPATCH(row_passes_f64)();
}
const F64Passes& f64_passes() { return *HWY_DYNAMIC_DISPATCH(f64_passes_of)(); }

}  // namespace softcheck::kernels::strict
#endif
