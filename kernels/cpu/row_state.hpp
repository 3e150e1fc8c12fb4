#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "kernels/cpu/block_passes.hpp"
#include "kernels/cpu/exp_constants.hpp"
#include "kernels/cpu/row_access.hpp"

namespace softcheck::kernels {

/// The state (m, S - 1, T) of a row: S = sum w, T = sum w D, w = exp(-D), D = (m - x) scale.
///
/// One maximum is left out of the sums, so that S - 1 keeps its relative accuracy on sharp rows. Sums are over T (f32
/// accumulation for f32 and narrower); only the finished sums are held as double.
template <class T>
struct RowState {
  T maximum = -std::numeric_limits<T>::infinity();
  std::int64_t argmax = -1;  // first place of the maximum
  bool undefined = false;    // NaN or +inf among the visible logits
  double sum_minus_one = 0;
  double weighted_deviation = 0;

  bool none_visible() const { return !undefined && argmax < 0; }
};

/// Partial sums merged pairwise in the order of a binary counter: the tree depends on the number of blocks alone and
/// appended empty blocks change nothing. All blocks are relative to one m, so that a merge is two additions.
template <class T>
class PairwiseSums {
 public:
  void add(BlockSums<T> sums) {
    std::uint64_t carry = count_++;
    for (; (carry & 1) != 0; carry >>= 1) {
      sums = merged(levels_[--used_], sums);
    }
    levels_[used_++] = sums;
  }

  BlockSums<T> total() const {
    BlockSums<T> sums{0, 0};
    for (int level = used_; level-- > 0;) {
      sums = merged(levels_[level], sums);
    }
    return sums;
  }

 private:
  static BlockSums<T> merged(const BlockSums<T>& left, const BlockSums<T>& right) {
    return {left.weights + right.weights, left.deviations + right.deviations};
  }

  std::array<BlockSums<T>, 64> levels_;
  int used_ = 0;
  std::uint64_t count_ = 0;
};

/// First pass over a row: its maximum and where that is.
template <class T>
RowState<T> row_maximum(const RowReader<T>& row) {
  alignas(64) T buffer[block_size<T>];
  RowState<T> state;
  std::int64_t where = -1;
  for (std::int64_t index = 0; index < row.blocks(); ++index) {
    const T* values = row.read(index, buffer);
    const BlockMaximum<T> best = block_maximum(values, row.padded(row.length(index)));
    if (best.has_nan) {
      state.maximum = std::numeric_limits<T>::quiet_NaN();
      state.undefined = true;
      return state;
    }
    if (best.maximum > state.maximum) {
      state.maximum = best.maximum;
      where = index;
    }
  }
  if (where < 0) {
    return state;
  }
  const T* values = row.read(where, buffer);
  state.argmax = where * static_cast<std::int64_t>(block_size<T>) +
                 static_cast<std::int64_t>(block_find(values, row.padded(row.length(where)), state.maximum));
  state.undefined = state.maximum == std::numeric_limits<T>::infinity();
  return state;
}

/// Second pass: S - 1 and T at the given scale (1 / theta).
template <class T>
void row_sums(const RowReader<T>& row, T scale, RowState<T>& state) {
  alignas(64) T buffer[block_size<T>];
  PairwiseSums<T> sums;
  for (std::int64_t index = 0; index < row.blocks(); ++index) {
    sums.add(block_sums(row.read(index, buffer), row.padded(row.length(index)), state.maximum, scale,
                        row.left_out(index, state.argmax)));
  }
  const BlockSums<T> total = sums.total();
  constexpr double unscale = ExpConstants<T>::unscale;
  state.sum_minus_one = total.weights * unscale;
  state.weighted_deviation = total.deviations * unscale;
}

}  // namespace softcheck::kernels
