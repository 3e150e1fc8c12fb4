#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/arithmetic/aligned_array.hpp"
#include "kernels/cpu/attention/attention_passes.hpp"
#include "kernels/cpu/machine.hpp"

// Results of blocks, merged pairwise in the order of a binary counter: the tree depends only on the number of blocks.
namespace softcheck::kernels::cpu {

/// The most levels of such a counter: one for each bit of the number of blocks, and one for the next block.
constexpr std::size_t counter_levels(std::size_t blocks) {
  std::size_t levels = 1;
  for (; blocks != 0; blocks >>= 1) {
    ++levels;
  }
  return levels;
}

/// A TileState and its memory.
template <class T>
class OwnedState {
 public:
  /// capacity: rows, a multiple of the lanes of a vector.
  OwnedState(std::size_t capacity, std::size_t width, bool squared)
      : capacity_(capacity), rows_(5 * capacity, T(0)), values_(capacity * width), squared_(squared) {}
  TileState<T> state() const {
    T* rows = rows_.get();
    return {rows,
            rows + capacity_,
            rows + 2 * capacity_,
            rows + 3 * capacity_,
            squared_ ? rows + 4 * capacity_ : nullptr,
            values_.get()};
  }

 private:
  std::size_t capacity_;
  AlignedArray<T> rows_, values_;
  bool squared_;
};

/// The states of blocks of keys. A block's number gives its place in the tree, so a block in which a row sees no key
/// does not change the row's bits, whether it is pushed or skipped.
template <class T>
class MergedStates {
 public:
  MergedStates(std::size_t blocks, std::size_t capacity, std::size_t width, bool squared) {
    for (std::size_t level = counter_levels(blocks); level-- > 0;) {
      levels_.emplace_back(capacity, width, squared);
    }
  }

  /// skipped: the number of first blocks that are left out. deviations: whether T is needed.
  void clear(std::size_t skipped, bool deviations) {
    used_ = 0;
    count_ = skipped;
    deviations_ = deviations;
  }

  /// Memory for the next block's state.
  TileState<T> next() { return state(used_); }
  /// Takes the state written there. width: the number of columns; 0 for the statistics only.
  void push(std::size_t rows, std::size_t width) {
    ++used_;
    std::size_t level = 0;
    for (std::size_t carry = count_++; (carry & 1) != 0; carry >>= 1, ++level) {
      if (used_ > 1 && at_[used_ - 2] == level) {  // else its left sibling was skipped
        merge_last(rows, width);
      }
    }
    at_[used_ - 1] = level;
  }
  /// Of at least one block.
  TileState<T> total(std::size_t rows, std::size_t width) {
    while (used_ > 1) {
      merge_last(rows, width);
    }
    return state(0);
  }

 private:
  TileState<T> state(std::size_t number) const {
    TileState<T> state = levels_[number].state();
    if (!deviations_) {
      state.deviations = nullptr;
    }
    return state;
  }
  void merge_last(std::size_t rows, std::size_t width) {
    --used_;
    merge_states(state(used_ - 1), state(used_), rows, width);
  }

  std::vector<OwnedState<T>> levels_;
  std::array<std::size_t, 64> at_;  // of each state the level of the tree
  std::size_t used_ = 0;
  std::size_t count_ = 0;
  bool deviations_ = true;
};

/// Arrays of a size added element by element. Blocks of zeros change no sum.
template <class T>
class PairwiseSums {
 public:
  PairwiseSums(std::size_t blocks, std::size_t size) : size_(size) {
    for (std::size_t level = counter_levels(blocks); level-- > 0;) {
      levels_.emplace_back(size);
    }
  }

  void clear() { used_ = count_ = 0; }

  /// Memory for the next block: to be written, or added to the block before it. push() takes it.
  struct Place {
    T* to;
    bool add;
  };
  Place next() const {
    const bool add = (count_ & 1) != 0;
    return {levels_[add ? used_ - 1 : used_].get(), add};
  }
  void push() {
    const std::size_t before = count_++;
    if ((before & 1) == 0) {
      ++used_;
      return;
    }
    for (std::size_t carry = before >> 1; (carry & 1) != 0; carry >>= 1) {
      add_last();
    }
  }
  /// Of at least one block.
  T* total() {
    while (used_ > 1) {
      add_last();
    }
    return levels_[0].get();
  }

 private:
  void add_last() {
    --used_;
    add_elements(levels_[used_].get(), size_, levels_[used_ - 1].get());
  }

  std::vector<AlignedArray<T>> levels_;
  std::size_t size_;
  std::size_t used_ = 0;
  std::size_t count_ = 0;
};

/// m of a row. An m of 0 is +0, whichever zero came first.
template <class T>
double maximum_of(const TileState<T>& state, std::size_t row) {
  return static_cast<double>(state.maximum[row]) + 0.0;
}

/// S - 1 of a row.
template <class T>
double sum_minus_one(const TileState<T>& state, std::size_t row) {
  return (static_cast<double>(state.ones[row]) - 1) + static_cast<double>(state.rest[row]);
}

/// T / S.
template <class T>
double mean_deviation(const TileState<T>& state, std::size_t row) {
  return static_cast<double>(state.deviations[row]) / (1 + sum_minus_one(state, row));
}

/// ln S + T / S: both terms are >= 0.
template <class T>
double entropy_of(const TileState<T>& state, std::size_t row) {
  return std::log1p(sum_minus_one(state, row)) + mean_deviation(state, row);
}

}  // namespace softcheck::kernels::cpu
