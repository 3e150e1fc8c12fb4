#pragma once

#include <cstdint>

#include "kernels/block/compensated_sum.hpp"
#include "kernels/block/context.hpp"
#include "kernels/block/exponential.hpp"
#include "kernels/block/logits.hpp"
#include "kernels/block/merge.hpp"

namespace softcheck::kernels {

/// The statistics of some items x of a row. With m the largest, D = (m - x) scale >= 0 and w = exp(-D):
///
///     S = sum w      T = sum w D      U = sum w D^2
///
/// weights holds S - 1: the weight of the first maximum, exactly 1, is left out, so that ln S of a sharp row keeps its
/// relative accuracy. The entropy is ln S + T / S nats, and the varentropy U / S - (T / S)^2.
///
/// merged() makes it a monoid; no_items() is the neutral element. maximum is NaN if an item is NaN or +inf, and -inf
/// where all items are hidden.
///
/// error    of a row of n items in a block of 128 threads: B1 of docs/tolerances.md with sum=lanes:512, derived in
///          docs/kernels/gpu_kernels.md, "Statistics and f64"
template <class T>
struct RowStatistics {
  T maximum;
  CompensatedSum<T> weights;     // S - 1
  CompensatedSum<T> deviations;  // T
  CompensatedSum<T> squares;     // U

  /// Whether no item is NaN or +inf.
  SOFTCHECK_BODY bool defined() const { return maximum == maximum; }
  /// Whether all items are hidden, or there are none.
  SOFTCHECK_BODY bool empty() const { return maximum == minus_infinity<T>(); }
};

/// The sums that a kernel asks for: S - 1; S - 1 and T; or S - 1, T and U. The functions below do not compute the
/// others, and no caller may read them.
enum class Moments { weights, deviations, squares };

/// The statistics of no items.
template <class T>
SOFTCHECK_BODY RowStatistics<T> no_items() {
  return {minus_infinity<T>(), {0, 0}, {0, 0}, {0, 0}};
}

/// The statistics of items with a NaN or a +inf among them.
template <class T>
SOFTCHECK_BODY RowStatistics<T> undefined_items() {
  return {not_a_number<T>(), {0, 0}, {0, 0}, {0, 0}};
}

/// Makes the statistics relative to a larger maximum m', which is not among the items. With d = (m' - m) scale, c =
/// e^-d and S the sum of all weights:
///
///     U <- c (U + d (d S + 2 T))      T <- c (T + d S)      S <- c S
///
/// The caller adds the item that is m', whose weight is the one left out from then on; weights therefore becomes c S,
/// all of it. Adding the 1 of the former maximum to weights is one rounding.
template <Moments moments, class T>
SOFTCHECK_BODY void raise_maximum(RowStatistics<T>& items, T maximum, T scale) {
  if (!items.empty()) {
    const T z = (items.maximum - maximum) * scale;
    const ExponentialParts<T> factor = exponential_parts(z);
    // If the factor underflows to 0, the items have no weight. d may then be infinite, and 0 d would be NaN.
    if (factor.value > T(0)) {
      const T d = -z;
      items.weights.add(T(1));
      const T sum = items.weights.total();
      if constexpr (moments == Moments::squares) {
        items.squares.add(d * fused(d, sum, 2 * items.deviations.total()));
        items.squares.scale(factor);
      }
      if constexpr (moments >= Moments::deviations) {
        items.deviations.add(d * sum);
        items.deviations.scale(factor);
      }
      items.weights.scale(factor);
    } else {
      items = no_items<T>();
    }
  }
  items.maximum = maximum;
}

/// The statistics of the items of left and right together. raise_maximum rescales the side with the smaller maximum,
/// and right where both are equal: the factor is then 1.
template <Moments moments, class T>
SOFTCHECK_BODY RowStatistics<T> merged(RowStatistics<T> left, RowStatistics<T> right, T scale) {
  if (!left.defined() || !right.defined()) return undefined_items<T>();
  if (right.empty()) return left;
  if (left.maximum < right.maximum) {
    const RowStatistics<T> larger = right;
    right = left;
    left = larger;
  }
  if (right.empty()) return left;
  raise_maximum<moments>(right, left.maximum, scale);
  left.weights.add(right.weights);
  if constexpr (moments >= Moments::deviations) left.deviations.add(right.deviations);
  if constexpr (moments == Moments::squares) left.squares.add(right.squares);
  return left;
}

/// merged() as the function that merged_by_block() takes. It returns 0 for the sums that moments leaves out, so that
/// the compiler drops their shuffles.
template <class T, Moments moments>
struct MergedStatistics {
  T scale;
  SOFTCHECK_BODY RowStatistics<T> operator()(const RowStatistics<T>& left, const RowStatistics<T>& right) const {
    RowStatistics<T> all = merged<moments>(left, right, scale);
    if constexpr (moments < Moments::deviations) all.deviations = {0, 0};
    if constexpr (moments < Moments::squares) all.squares = {0, 0};
    return all;
  }
};

/// Adds a group of items to a thread's state. Of the group, (1 + 2) + (3 + 4) is added to each sum: two levels of
/// additions and one compensated addition. The state is rescaled at most once. The first item that is a new maximum is
/// the one left out of weights.
///
/// x        each finite, -inf (hidden), NaN or +inf
template <Moments moments, class T>
SOFTCHECK_BODY void add_items(RowStatistics<T>& state, const T (&x)[items_at_once], T scale) {
  T largest = x[0];
  bool defined = true;
  for (int i = 0; i < items_at_once; ++i) {
    defined = defined && x[i] < std::numeric_limits<T>::infinity();
    largest = x[i] > largest ? x[i] : largest;
  }
  if (!defined || !state.defined()) {
    state = undefined_items<T>();
    return;
  }
  if (largest == minus_infinity<T>()) return;
  int left_out = -1;
  if (largest > state.maximum) {
    raise_maximum<moments>(state, largest, scale);
    for (int i = items_at_once - 1; i >= 0; --i) left_out = x[i] == largest ? i : left_out;
  }
  T w[items_at_once], wd[items_at_once], wdd[items_at_once];
  for (int i = 0; i < items_at_once; ++i) {
    const T z = (x[i] - state.maximum) * scale;
    w[i] = i == left_out ? T(0) : exponential(z);
    const T d = w[i] > T(0) ? -z : T(0);
    wd[i] = w[i] * d;
    wdd[i] = wd[i] * d;
  }
  state.weights.add((w[0] + w[1]) + (w[2] + w[3]));
  if constexpr (moments >= Moments::deviations) state.deviations.add((wd[0] + wd[1]) + (wd[2] + wd[3]));
  if constexpr (moments == Moments::squares) state.squares.add((wdd[0] + wdd[1]) + (wdd[2] + wdd[3]));
}

/// The statistics of a row by one read of it, returned to every thread of the block. All threads call it.
///
/// row        has columns, visible(column), and may have load_group(column, x): LogitsRow, QueryScores, PartScores
/// partials   shared memory, one RowStatistics a warp: merging_bytes<RowStatistics<T>>
/// scale      1 / theta, > 0
template <Moments moments, BlockContext B, class Row, class T>
SOFTCHECK_BODY RowStatistics<T> row_statistics(B& block, const Row& row,
                                               const typename B::template Shared<RowStatistics<T>>& partials, T scale) {
  RowStatistics<T> own = no_items<T>();
  each_group_of_columns(block, row.columns, [&](std::int64_t begin) {
    T x[items_at_once];
    if constexpr (requires { row.load_group(begin, x); }) {
      row.load_group(begin, x);
    } else {
      for (int i = 0; i < items_at_once; ++i) x[i] = row.visible(begin + i);
    }
    add_items<moments>(own, x, scale);
  });
  return merged_by_block(block, partials, own, no_items<T>(), MergedStatistics<T, moments>{scale});
}

}  // namespace softcheck::kernels
