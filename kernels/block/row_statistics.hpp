#pragma once

#include <cstdint>

#include "kernels/block/compensated_sum.hpp"
#include "kernels/block/context.hpp"
#include "kernels/block/exponential.hpp"
#include "kernels/block/logits.hpp"
#include "kernels/block/merge.hpp"

namespace softcheck::kernels {

/// Of some items of a row: the maximum m, and with D = (m - x) scale >= 0, w = exp(-D), the sums S - 1 of w (one item
/// that is the maximum left out: its weight is exactly 1), T of w D and U of w D^2.
///
/// A monoid under merged(); no_items() is its neutral element. Where an item is NaN or +inf, maximum is NaN.
/// entropy = ln S + T / S, its variance (varentropy) U / S - (T / S)^2.
template <class T>
struct RowStatistics {
  T maximum;
  CompensatedSum<T> weights;     // S - 1
  CompensatedSum<T> deviations;  // T
  CompensatedSum<T> squares;     // U

  SOFTCHECK_BODY bool defined() const { return maximum == maximum; }
  SOFTCHECK_BODY bool empty() const { return maximum == minus_infinity<T>(); }
};

/// Which of the sums are wanted: each has those before it, too. The others are nobody's.
enum class Moments { weights, deviations, squares };

template <class T>
SOFTCHECK_BODY RowStatistics<T> no_items() {
  return {minus_infinity<T>(), {0, 0}, {0, 0}, {0, 0}};
}

template <class T>
SOFTCHECK_BODY RowStatistics<T> undefined_items() {
  return {not_a_number<T>(), {0, 0}, {0, 0}, {0, 0}};
}

/// The same items relative to a maximum that is not among them, whose weight is therefore the one left out.
template <Moments moments, class T>
SOFTCHECK_BODY void raise_maximum(RowStatistics<T>& items, T maximum, T scale) {
  if (!items.empty()) {
    const T z = (items.maximum - maximum) * scale;
    const ExponentialParts<T> factor = exponential_parts(z);
    // No factor, no items: and no product of 0 with a deviation that overflowed.
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

/// merged() as what merged_by_block() takes. Sums that nobody wants are said to be 0, so that no shuffle moves them.
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

/// Items that a thread read together: their sums are added in halves.
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

/// The statistics of a row (columns, visible(column), maybe load_group(column, x)) by one read of it, for every thread
/// of the block. partials as for merged_by_block.
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
