#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/call/elements.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/rows/block_passes.hpp"

namespace softcheck::kernels::cpu {

/// One row of logits as blocks of T, masked items as -inf, filled up with -inf to a multiple of block_lanes.
template <class T>
class RowReader {
 public:
  RowReader(const View& logits, const View* mask, std::int64_t row) : logits_(logits), mask_(mask), row_(row) {}

  std::int64_t size() const { return logits_.columns; }
  std::int64_t blocks() const { return (size() + block - 1) / block; }
  std::size_t length(std::int64_t index) const {
    return static_cast<std::size_t>(std::min(block, size() - index * block));
  }
  static std::size_t padded(std::size_t count) {
    return (count + block_lanes<T> - 1) / block_lanes<T> * block_lanes<T>;
  }

  /// The logits themselves where they can be read in place, else buffer (block_size of them).
  const T* read(std::int64_t index, T* buffer) const {
    const std::int64_t begin = index * block;
    const std::size_t count = length(index);
    const std::byte* from = logits_.at(row_, begin);
    const bool contiguous = logits_.storage == native_storage<T> && logits_.column_stride == sizeof(T);
    const bool aligned = reinterpret_cast<std::uintptr_t>(from) % alignof(T) == 0;
    if (contiguous && aligned && mask_ == nullptr && count == padded(count)) {
      return reinterpret_cast<const T*>(from);
    }
    copy(begin, count, contiguous, buffer);
    return buffer;
  }

 private:
  static constexpr std::int64_t block = static_cast<std::int64_t>(block_size<T>);

  void copy(std::int64_t begin, std::size_t count, bool contiguous, T* buffer) const {
    const std::byte* from = logits_.at(row_, begin);
    if (contiguous) {
      std::memcpy(buffer, from, count * sizeof(T));
    } else if (!widen_elements(from, logits_.storage, logits_.column_stride, count, buffer)) {
      for (std::size_t i = 0; i < count; ++i) {
        buffer[i] = load_element<T>(from + static_cast<std::int64_t>(i) * logits_.column_stride, logits_.storage);
      }
    }
    if (mask_ != nullptr) {
      for (std::size_t i = 0; i < count; ++i) {
        if (*mask_->at(row_, begin + static_cast<std::int64_t>(i)) == std::byte{0}) {
          buffer[i] = -std::numeric_limits<T>::infinity();
        }
      }
    }
    std::fill(buffer + count, buffer + padded(count), -std::numeric_limits<T>::infinity());
  }

  const View& logits_;
  const View* mask_;
  std::int64_t row_;
};

/// Writes count values to a row of out from column begin on.
template <class T>
void write_row(const View& out, std::int64_t row, std::int64_t begin, const T* values, std::size_t count) {
  store_elements(values, count, out.at(row, begin), out.storage, out.column_stride);
}

}  // namespace softcheck::kernels::cpu
