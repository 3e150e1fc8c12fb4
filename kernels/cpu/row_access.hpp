#pragma once

#include <dlpack/dlpack.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/arithmetic/format_bits.hpp"
#include "kernels/arithmetic/format_passes.hpp"
#include "kernels/cpu/block_passes.hpp"

namespace softcheck::kernels {

enum class Storage { f64, f32, f16, bf16, mask };

/// A strided view of rank 2 (a rank-1 view has one column); strides in bytes.
struct View {
  std::byte* data = nullptr;
  Storage storage = Storage::f32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;

  std::byte* at(std::int64_t row, std::int64_t column) const {
    return data + row * row_stride + column * column_stride;
  }
};

// An element moves by memcpy: alignment is the element's by contract, and nothing here needs more.
template <class Bits>
Bits load_bits(const std::byte* from) {
  Bits bits;
  std::memcpy(&bits, from, sizeof bits);
  return bits;
}

template <class T>
T load_element(const std::byte* from, Storage storage) {
  switch (storage) {
    case Storage::f64:
      return static_cast<T>(load_bits<double>(from));
    case Storage::f32:
      return static_cast<T>(load_bits<float>(from));
    case Storage::f16:
      return static_cast<T>(f16_to_f32(load_bits<std::uint16_t>(from)));
    case Storage::bf16:
      return static_cast<T>(bf16_to_f32(load_bits<std::uint16_t>(from)));
    case Storage::mask:
      break;
  }
  return std::numeric_limits<T>::quiet_NaN();
}

template <class T>
void store_element(std::byte* to, Storage storage, T value) {
  if (storage == Storage::f64 || storage == Storage::f32) {
    if (storage == Storage::f64) {
      const double wide = value;
      std::memcpy(to, &wide, sizeof wide);
    } else {
      const float narrow = static_cast<float>(value);
      std::memcpy(to, &narrow, sizeof narrow);
    }
    return;
  }
  const float narrow = static_cast<float>(value);
  const std::uint16_t bits = storage == Storage::f16 ? f32_to_f16(narrow) : f32_to_bf16(narrow);
  std::memcpy(to, &bits, sizeof bits);
}

template <class T>
inline constexpr Storage native_storage = sizeof(T) == 8 ? Storage::f64 : Storage::f32;

/// count halves that lie side by side, as T = float; false where these are none.
template <class T>
bool widen_elements(const std::byte* from, Storage storage, std::int64_t stride, std::size_t count, T* buffer) {
  if constexpr (sizeof(T) == 4) {
    const bool aligned = reinterpret_cast<std::uintptr_t>(from) % sizeof(std::uint16_t) == 0;
    if (stride == sizeof(std::uint16_t) && aligned && (storage == Storage::f16 || storage == Storage::bf16)) {
      const auto* bits = reinterpret_cast<const std::uint16_t*>(from);
      storage == Storage::f16 ? widen_f16(bits, count, buffer) : widen_bf16(bits, count, buffer);
      return true;
    }
  }
  return false;
}

/// Writes count values stride bytes apart.
template <class T>
void store_elements(const T* values, std::size_t count, std::byte* to, Storage storage, std::int64_t stride) {
  if (storage == native_storage<T> && stride == sizeof(T)) {
    std::memcpy(to, values, count * sizeof(T));
    return;
  }
  if constexpr (sizeof(T) == 4) {
    const bool aligned = reinterpret_cast<std::uintptr_t>(to) % alignof(std::uint16_t) == 0;
    if (stride == sizeof(std::uint16_t) && aligned && (storage == Storage::f16 || storage == Storage::bf16)) {
      auto* bits = reinterpret_cast<std::uint16_t*>(to);
      storage == Storage::f16 ? narrow_f16(values, count, bits) : narrow_bf16(values, count, bits);
      return;
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    store_element(to + static_cast<std::int64_t>(i) * stride, storage, values[i]);
  }
}

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

}  // namespace softcheck::kernels
