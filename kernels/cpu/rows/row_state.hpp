#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/cpu/rows/block_passes.hpp"
#include "kernels/cpu/rows/row_access.hpp"

namespace softcheck::kernels::cpu {

/// The state (m, S - 1, T) of some items: S = sum w, T = sum w D, w = exp(-D), D = (m - x) scale, and if requested
/// U = sum w D^2. Sums are in the type T (f32 accumulation for f32 and narrower).
template <class T>
struct RowState {
  T maximum = -std::numeric_limits<T>::infinity();
  bool undefined = false;  // NaN or +inf among the visible logits; maximum is it
  BlockSums<T> sums{0, 0, 0, 0};

  bool none_visible() const { return !undefined && maximum == -std::numeric_limits<T>::infinity(); }
};

/// The same of some blocks of a row, m = -inf if nothing in them is visible. No initial values: there are many.
template <class T>
struct PartialState {
  T maximum;
  BlockSums<T> sums;

  bool none_visible() const { return maximum == -std::numeric_limits<T>::infinity(); }
};

template <class T>
BlockSums<T> added(const BlockSums<T>& left, const BlockSums<T>& right) {
  return {left.ones + right.ones, left.weights + right.weights, left.deviations + right.deviations,
          left.squares + right.squares};
}

/// Merges two states. With equal maxima these are four additions; else it rescales the side with the smaller maximum.
template <class T>
PartialState<T> merged(const PartialState<T>& left, const PartialState<T>& right, T scale) {
  if (right.none_visible()) {
    return left;
  }
  if (left.none_visible()) {
    return right;
  }
  if (left.maximum == right.maximum) {
    return {left.maximum, added(left.sums, right.sums)};
  }
  const bool left_wins = left.maximum > right.maximum;
  PartialState<T> state = left_wins ? left : right;
  const PartialState<T>& other = left_wins ? right : left;
  const T d = (state.maximum - other.maximum) * scale;
  const T factor = block_exp(-d);
  if (factor == 0) {
    return state;  // d may be infinite
  }
  // Fused: a rescaling rounds no more often than its contract grants, the addition of ones included.
  const T sum = other.sums.ones + other.sums.weights;
  const T deviations = std::fma(d, sum, other.sums.deviations);
  const T squares = std::fma(d, other.sums.deviations + deviations, other.sums.squares);
  state.sums.weights = std::fma(factor, sum, state.sums.weights);
  state.sums.deviations = std::fma(factor, deviations, state.sums.deviations);
  state.sums.squares = std::fma(factor, squares, state.sums.squares);
  return state;
}

/// States of blocks merged pairwise in the order of a binary counter: the tree depends only on the number of blocks,
/// and appended blocks without a visible item change nothing.
template <class T>
class PairwiseStates {
 public:
  explicit PairwiseStates(T scale) : scale_(scale) {}

  void add(PartialState<T> state) {
    std::uint64_t carry = count_++;
    for (; (carry & 1) != 0; carry >>= 1) {
      state = merged(levels_[--used_], state, scale_);
    }
    levels_[used_++] = state;
  }

  /// Of at least one block.
  RowState<T> total() const {
    PartialState<T> state = levels_[used_ - 1];
    for (int level = used_ - 1; level-- > 0;) {
      state = merged(levels_[level], state, scale_);
    }
    return {state.maximum, false, state.sums};
  }

 private:
  T scale_;
  std::array<PartialState<T>, 64> levels_;
  int used_ = 0;
  std::uint64_t count_ = 0;
};

/// A row that has no state: NaN, or +inf without NaN.
template <class T>
RowState<T> undefined_state(T maximum) {
  return {maximum, true, {0, 0, 0, 0}};
}

/// A row's maximum and the blocks from the first to the last that have it; undefined_state's maximum where it has none.
template <class T>
struct RowMaximum {
  T maximum = -std::numeric_limits<T>::infinity();
  std::int64_t first = 0, last = -1;

  bool undefined() const { return !(maximum < std::numeric_limits<T>::infinity()); }
  bool none_visible() const { return maximum == -std::numeric_limits<T>::infinity(); }
};

/// Does the row hold NaN?
template <class T>
bool row_has_nan(const RowReader<T>& row) {
  alignas(64) T buffer[block_size<T>];
  for (std::int64_t index = 0; index < row.blocks(); ++index) {
    if (block_has_nan(row.read(index, buffer), row.padded(row.length(index)))) {
      return true;
    }
  }
  return false;
}

/// The maximum of a row. If the maximum is finite, it does not search for a NaN: then the caller's sum of deviations is
/// NaN.
template <class T>
RowMaximum<T> row_maximum(const RowReader<T>& row) {
  alignas(64) T buffer[block_size<T>];
  RowMaximum<T> result;
  for (std::int64_t index = 0; index < row.blocks(); ++index) {
    const T m = block_maximum(row.read(index, buffer), row.padded(row.length(index)));
    if (m > result.maximum) {
      result = {m, index, index};
    } else if (m == result.maximum) {
      result.last = index;
    }
  }
  if (!std::isfinite(result.maximum) && row_has_nan(row)) {
    return {std::numeric_limits<T>::quiet_NaN(), 0, -1};
  }
  return result;
}

/// S and T of a row whose maximum is known: no block has another one, nothing is rescaled.
template <class T>
BlockSums<T> row_sums(const RowReader<T>& row, T maximum, T scale) {
  alignas(64) T buffer[block_size<T>];
  PairwiseStates<T> states(scale);
  for (std::int64_t index = 0; index < row.blocks(); ++index) {
    states.add({maximum, block_sums(row.read(index, buffer), row.padded(row.length(index)), maximum, scale)});
  }
  return states.total().sums;
}

/// The whole state at the given scale (1 / theta), reading each block once: relative to its own maximum, then merged.
template <class T>
RowState<T> row_state(const RowReader<T>& row, T scale, bool moments = false) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  alignas(64) T buffer[block_size<T>];
  PairwiseStates<T> states(scale);
  bool infinite = false;
  for (std::int64_t index = 0; index < row.blocks(); ++index) {
    const T* values = row.read(index, buffer);
    const std::size_t count = row.padded(row.length(index));
    const T m = block_maximum(values, count);
    BlockSums<T> sums{0, 0, 0, 0};
    if (std::isfinite(m)) {
      sums = moments ? block_moments(values, count, m, scale) : block_sums(values, count, m, scale);
    }
    if (std::isnan(sums.deviations) || (!std::isfinite(m) && block_has_nan(values, count))) {
      return undefined_state(std::numeric_limits<T>::quiet_NaN());
    }
    infinite = infinite || m == infinity;
    states.add({m == infinity ? -infinity : m, sums});
  }
  if (infinite) {
    return undefined_state(infinity);
  }
  return row.blocks() == 0 ? RowState<T>() : states.total();
}

/// ln S from S - 1, for a result in T: in f32 the rounding of 1 + (S - 1) in double is seen only where S - 1 is tiny.
template <class T>
double log_sum(double less_one) {
  return sizeof(T) == 4 && less_one > 0x1p-20 ? std::log(1 + less_one) : std::log1p(less_one);
}

/// T / S and U / S.
template <class T>
double mean_deviation(const BlockSums<T>& sums) {
  return static_cast<double>(sums.deviations) * static_cast<double>(ExpConstants<T>::unscale) /
         (1 + sum_minus_one(sums));
}
template <class T>
double mean_square(const BlockSums<T>& sums) {
  return static_cast<double>(sums.squares) * static_cast<double>(ExpConstants<T>::unscale) / (1 + sum_minus_one(sums));
}

/// ln S + T / S: both terms are >= 0, nothing cancels, and a shift of the logits changes nothing.
template <class T>
double entropy_of(const BlockSums<T>& sums) {
  return log_sum<T>(sum_minus_one(sums)) + mean_deviation(sums);
}

}  // namespace softcheck::kernels::cpu
