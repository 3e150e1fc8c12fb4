#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/arithmetic/aligned_array.hpp"
#include "kernels/arithmetic/format_bits.hpp"
#include "kernels/call/attention_views.hpp"
#include "kernels/cpu/attention/attention_states.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/tiles/tile_lane.hpp"

namespace softcheck::kernels::cpu {

/// Rows of bf16 numbers, each one's side by side.
struct Bf16Rows {
  const std::byte* data;
  std::ptrdiff_t stride;  // in bytes
};

/// count numbers, stride bytes apart, filled up with 0 to width.
inline void copy_bf16(const std::byte* from, std::int64_t stride, std::size_t count, std::size_t width,
                      std::uint16_t* to) {
  if (stride == sizeof(std::uint16_t)) {
    std::memcpy(to, from, count * sizeof(std::uint16_t));
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      to[i] = load_bits<std::uint16_t>(from + static_cast<std::int64_t>(i) * stride);
    }
  }
  std::fill(to + count, to + width, std::uint16_t{0});
}

constexpr bool is_finite_bf16(std::uint16_t bits) { return (bits & 0x7f80u) != 0x7f80u; }

/// `count` rows of a view like K, from a first one on, as `keys` rows of `width` numbers, padded with 0: in place if
/// the tensor has this layout, else copied to buffer (keys, width).
inline Bf16Rows rows_of_keys(const View4& view, std::int64_t batch, std::int64_t head, std::int64_t first,
                             std::size_t count, std::size_t keys, std::size_t width, std::uint16_t* buffer) {
  const auto dim = static_cast<std::size_t>(view.shape[3]);
  if (count == keys && dim == width && view.strides[3] == sizeof(std::uint16_t)) {
    return {view.at(batch, head, first), view.strides[2]};
  }
  for (std::size_t j = 0; j < keys; ++j) {
    std::uint16_t* to = buffer + j * width;
    if (j < count) {
      copy_bf16(view.at(batch, head, first + static_cast<std::int64_t>(j)), view.strides[3], dim, width, to);
    } else {
      std::fill(to, to + width, std::uint16_t{0});
    }
  }
  return {reinterpret_cast<const std::byte*>(buffer), static_cast<std::ptrdiff_t>(width * sizeof(std::uint16_t))};
}

/// Copies keys rows of width numbers to buffer, where it may lie already, with 0 for those that are not finite.
inline Bf16Rows finite_rows(const Bf16Rows& rows, std::size_t keys, std::size_t width, std::uint16_t* buffer) {
  for (std::size_t j = 0; j < keys; ++j) {
    std::uint16_t* to = buffer + j * width;
    std::memmove(to, rows.data + static_cast<std::ptrdiff_t>(j) * rows.stride, width * sizeof(std::uint16_t));
    std::replace_if(
        to, to + width, [](std::uint16_t bits) { return !is_finite_bf16(bits); }, std::uint16_t{0});
  }
  return {reinterpret_cast<const std::byte*>(buffer), static_cast<std::ptrdiff_t>(width * sizeof(std::uint16_t))};
}

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
