#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/strict/attention_passes.cpp"
#include <hwy/foreach_target.h>
// foreach_target comes first: it includes this file once per instruction set.
#include <hwy/highway.h>

#include "kernels/strict/attention_passes.hpp"
#include "kernels/strict/strict_lanes.inl"

HWY_BEFORE_NAMESPACE();
namespace softcheck::kernels::strict {
namespace HWY_NAMESPACE {

// score() computes panels of 2 queries and 4 vectors of keys: their 8 sums take half of the registers of AVX2.
inline constexpr std::size_t panel_rows = 2;
inline constexpr std::size_t panel_vectors = 4;

template <std::size_t rows, class T>
HWY_INLINE void score_panel(const T* queries, std::size_t dim, const T* keys, T scale, T* scores, std::size_t stride) {
  const Tag<T> d;
  Lanes<T> dots[rows][panel_vectors];
  for (auto& row : dots) {
    for (Lanes<T>& dot : row) dot = hn::Zero(d);
  }
  for (std::size_t i = 0; i < dim; ++i) {
    Lanes<T> k[panel_vectors];
    for (std::size_t v = 0; v < panel_vectors; ++v) k[v] = hn::LoadU(d, keys + i * key_stride<T> + v * lanes<T>);
    for (std::size_t r = 0; r < rows; ++r) {
      const Lanes<T> q = hn::Set(d, queries[r * dim + i]);
      for (std::size_t v = 0; v < panel_vectors; ++v) dots[r][v] = fused_lanes<T>(q, k[v], dots[r][v]);
    }
  }
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t v = 0; v < panel_vectors; ++v) {
      hn::StoreU(hn::Mul(dots[r][v], hn::Set(d, scale)), d, scores + r * stride + v * lanes<T>);
    }
  }
}

template <class T>
HWY_ATTR void score_of(const T* queries, std::size_t count, std::size_t dim, const T* keys, T scale, T* scores,
                       std::size_t stride) {
  constexpr std::size_t width = panel_vectors * lanes<T>;
  static_assert(block_keys % width == 0);
  for (std::size_t key = 0; key < block_keys; key += width) {
    std::size_t row = 0;
    for (; row + panel_rows <= count; row += panel_rows) {
      score_panel<panel_rows>(queries + row * dim, dim, keys + key, scale, scores + row * stride + key, stride);
    }
    for (; row < count; ++row) {
      score_panel<1>(queries + row * dim, dim, keys + key, scale, scores + row * stride + key, stride);
    }
  }
}

template <class T>
HWY_INLINE T largest_of(const T* scores) {
  const Tag<T> d;
  Lanes<T> best = hn::LoadU(d, scores);
  auto nan = hn::IsNaN(best);
  for (std::size_t i = lanes<T>; i < block_keys; i += lanes<T>) {
    const Lanes<T> x = hn::LoadU(d, scores + i);
    nan = hn::Or(nan, hn::IsNaN(x));
    best = hn::Max(best, x);
  }
  return hn::AllFalse(d, nan) ? hn::GetLane(hn::MaxOfLanes(d, best)) : not_a_number<T>();
}

template <class T>
HWY_INLINE SumLanes<T> load_columns(const Columns<T>& from, std::size_t column) {
  return {hn::LoadU(Tag<T>(), from.value + column), hn::LoadU(Tag<T>(), from.rest + column)};
}
template <class T>
HWY_INLINE void store_columns(const SumLanes<T>& sums, const Columns<T>& to, std::size_t column) {
  hn::StoreU(sums.value, Tag<T>(), to.value + column);
  hn::StoreU(sums.rest, Tag<T>(), to.rest + column);
}

// GivenOutput::raise() of every thread of the block.
template <class T>
HWY_INLINE void raise(QueryState<T>& s, T larger) {
  const Tag<T> d;
  const PartsLanes<T> factor = exponential_parts_lanes<T>(hn::Set(d, s.maximum - larger));
  const bool some = hn::GetLane(factor.value) > 0;
  const Lanes<T> rise = hn::Set(d, larger - s.maximum);
  for (std::size_t thread = 0; thread < threads; thread += lanes<T>) {
    SumLanes<T> weights = load_sums(s.weights, thread), deviations = load_sums(s.deviations, thread);
    if (some) deviations.add(hn::Mul(rise, weights.total()));
    store_sums(weights.scaled(factor), s.weights, thread);
    store_sums(deviations.scaled(factor), s.deviations, thread);
  }
  for (std::size_t column = 0; column < s.out.count; column += lanes<T>) {
    store_columns(load_columns(s.out, column).scaled(factor), s.out, column);
  }
  s.maximum = larger;
}

template <class T>
HWY_ATTR bool weigh_of(const T* scores, T inverse_temperature, bool maximum_known, QueryState<T>& s, T* weights) {
  const Tag<T> d;
  if (!maximum_known) {
    const T largest = largest_of(scores);
    if (!(largest <= s.maximum)) raise(s, largest);
    if (!(s.maximum < std::numeric_limits<T>::infinity())) return false;
  }
  const Lanes<T> m = hn::Set(d, s.maximum), beta = hn::Set(d, inverse_temperature);
  for (std::size_t i = 0; i < block_keys; i += lanes<T>) {
    const Lanes<T> x = hn::LoadU(d, scores + i);
    const auto seen = hn::Gt(x, hn::Set(d, minus_infinity<T>()));
    const Lanes<T> z = hn::Mul(hn::Sub(x, m), beta);
    const Lanes<T> weight = hn::IfThenElseZero(seen, exponential_lanes<T>(z));
    SumLanes<T> sum = load_sums(s.weights, i), deviations = load_sums(s.deviations, i);
    sum.add(weight);
    deviations.add(hn::IfThenElseZero(hn::Gt(weight, hn::Zero(d)), hn::Mul(weight, hn::Neg(z))));
    store_sums(sum, s.weights, i);
    store_sums(deviations, s.deviations, i);
    hn::StoreU(hn::IfThenElse(seen, weight, hn::Set(d, T(-1))), d, weights + i);
  }
  return true;
}

template <std::size_t vectors, class T>
HWY_INLINE void rows_panel(const T* marks, const T* factors, const T* rows, std::size_t count, std::size_t column,
                           const Columns<T>& to) {
  const Tag<T> d;
  SumLanes<T> sums[vectors];
  for (std::size_t v = 0; v < vectors; ++v) sums[v] = load_columns(to, column + v * lanes<T>);
  for (std::size_t i = 0; i < count; ++i) {
    if (marks[i] < 0) continue;
    const Lanes<T> factor = hn::Set(d, factors[i]);
    const T* row = rows + i * to.count + column;
    for (std::size_t v = 0; v < vectors; ++v) sums[v].add(hn::Mul(factor, hn::LoadU(d, row + v * lanes<T>)));
  }
  for (std::size_t v = 0; v < vectors; ++v) store_columns(sums[v], to, column + v * lanes<T>);
}

template <class T>
HWY_ATTR void rows_of(const T* marks, const T* factors, const T* rows, std::size_t count, const Columns<T>& to) {
  std::size_t column = 0;
  for (; column + 4 * lanes<T> <= to.count; column += 4 * lanes<T>) {
    rows_panel<4>(marks, factors, rows, count, column, to);
  }
  for (; column < to.count; column += lanes<T>) rows_panel<1>(marks, factors, rows, count, column, to);
}

template <class T>
HWY_ATTR void part_of(const Columns<T>& part, T factor_of_part, const Columns<T>& to) {
  const Lanes<T> factor = hn::Set(Tag<T>(), factor_of_part);
  for (std::size_t column = 0; column < to.count; column += lanes<T>) {
    SumLanes<T> sums = load_columns(to, column), scaled = load_columns(part, column);
    scaled.value = hn::Mul(scaled.value, factor);
    scaled.rest = hn::Mul(scaled.rest, factor);
    sums.add(scaled);
    store_columns(sums, to, column);
  }
}

template <class T>
inline constexpr AttentionPasses<T> attention_passes_of = {score_of<T>, weigh_of<T>, rows_of<T>, part_of<T>};

const AttentionPasses<float>* attention_passes_f32() { return &attention_passes_of<float>; }
const AttentionPasses<double>* attention_passes_f64() { return &attention_passes_of<double>; }

}  // namespace HWY_NAMESPACE
}  // namespace softcheck::kernels::strict
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace softcheck::kernels::strict {

HWY_EXPORT(attention_passes_f32);
HWY_EXPORT(attention_passes_f64);

template <>
const AttentionPasses<float>& attention_passes<float>() {
  return *HWY_DYNAMIC_DISPATCH(attention_passes_f32)();
}
template <>
const AttentionPasses<double>& attention_passes<double>() {
  return *HWY_DYNAMIC_DISPATCH(attention_passes_f64)();
}

}  // namespace softcheck::kernels::strict
#endif
