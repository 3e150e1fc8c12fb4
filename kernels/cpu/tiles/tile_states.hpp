#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "kernels/arithmetic/aligned_array.hpp"
#include "kernels/cpu/attention/attention_states.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/tiles/tile_lane.hpp"

namespace softcheck::kernels::cpu {

/// The states of a tile's units and their memory.
class UnitStates {
 public:
  /// rows, a multiple of unit_rows, of width values each.
  UnitStates(std::size_t rows, std::size_t width)
      : rows_(rows), width_(width), numbers_(3 * rows), values_(rows * width) {}

  UnitState unit(std::size_t index) const {
    float* numbers = numbers_.get() + index * unit_rows;
    return {numbers, numbers + rows_, numbers + 2 * rows_, values_.get() + index * unit_rows * width_, width_};
  }
  /// Resets the states of the first units: no key seen.
  void clear(std::size_t units) const {
    const std::size_t rows = units * unit_rows;
    std::fill_n(numbers_.get(), rows, -std::numeric_limits<float>::infinity());
    std::fill_n(numbers_.get() + rows_, rows, 0.0f);
    std::fill_n(numbers_.get() + 2 * rows_, rows, 0.0f);
    std::fill_n(values_.get(), rows * width_, 0.0f);
  }

 private:
  std::size_t rows_, width_;
  AlignedArray<float> numbers_, values_;
};

/// The states of chunks of keys, merged pairwise in the order of a binary counter: the tree depends only on the number
/// of chunks, and a chunk in which a row sees no key does not change the row's bits.
class ChunkStates {
 public:
  ChunkStates(std::size_t chunks, std::size_t rows, std::size_t width) {
    for (std::size_t level = counter_levels(chunks - 1); level-- > 0;) {
      levels_.emplace_back(rows, width);
    }
  }

  /// For a tile of so many units.
  void clear(std::size_t units) {
    units_ = units;
    used_ = count_ = 0;
  }
  /// Memory in which the next chunk is added up.
  const UnitStates& next() {
    levels_[used_].clear(units_);
    return levels_[used_];
  }
  void push(const TileLane& lane) {
    ++used_;
    for (std::size_t carry = count_++; (carry & 1) != 0; carry >>= 1) {
      merge_last(lane);
    }
  }
  /// Of at least one chunk.
  const UnitStates& total(const TileLane& lane) {
    while (used_ > 1) {
      merge_last(lane);
    }
    return levels_[0];
  }

 private:
  void merge_last(const TileLane& lane) {
    --used_;
    for (std::size_t unit = 0; unit < units_; ++unit) {
      lane.merge(levels_[used_ - 1].unit(unit), levels_[used_].unit(unit));
    }
  }

  std::vector<UnitStates> levels_;
  std::size_t units_ = 0, used_ = 0, count_ = 0;
};

}  // namespace softcheck::kernels::cpu
