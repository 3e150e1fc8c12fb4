#pragma once

#include <dlpack/dlpack.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/arithmetic/format_bits.hpp"
#include "kernels/arithmetic/format_passes.hpp"

namespace softcheck::kernels::call {

/// eight_bits + i is that of arithmetic::byte_formats[i].
enum class Storage { f64, f32, f16, bf16, mask, eight_bits };

constexpr std::size_t byte_format(Storage storage) {
  return static_cast<std::size_t>(storage) - static_cast<std::size_t>(Storage::eight_bits);
}

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
      return static_cast<T>(arithmetic::f16_to_f32(load_bits<std::uint16_t>(from)));
    case Storage::bf16:
      return static_cast<T>(arithmetic::bf16_to_f32(load_bits<std::uint16_t>(from)));
    case Storage::mask:
      return std::numeric_limits<T>::quiet_NaN();
    case Storage::eight_bits:
      break;
  }
  return arithmetic::with_byte_format(byte_format(storage), [from](const arithmetic::ByteFormat& format) {
    return static_cast<T>(arithmetic::byte_to_f32(format, load_bits<std::uint8_t>(from)));
  });
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
  if (storage >= Storage::eight_bits) {
    const std::uint8_t byte = arithmetic::with_byte_format(
        byte_format(storage),
        [narrow](const arithmetic::ByteFormat& format) { return arithmetic::f32_to_byte(format, narrow); });
    std::memcpy(to, &byte, sizeof byte);
    return;
  }
  const std::uint16_t bits = storage == Storage::f16 ? arithmetic::f32_to_f16(narrow) : arithmetic::f32_to_bf16(narrow);
  std::memcpy(to, &bits, sizeof bits);
}

template <class T>
inline constexpr Storage native_storage = sizeof(T) == 8 ? Storage::f64 : Storage::f32;

/// count halves that lie side by side, as T = float; false if these are none.
template <class T>
bool widen_elements(const std::byte* from, Storage storage, std::int64_t stride, std::size_t count, T* buffer) {
  if constexpr (sizeof(T) == 4) {
    const bool aligned = reinterpret_cast<std::uintptr_t>(from) % sizeof(std::uint16_t) == 0;
    if (stride == sizeof(std::uint16_t) && aligned && (storage == Storage::f16 || storage == Storage::bf16)) {
      const auto* bits = reinterpret_cast<const std::uint16_t*>(from);
      storage == Storage::f16 ? arithmetic::widen_f16(bits, count, buffer)
                              : arithmetic::widen_bf16(bits, count, buffer);
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
      storage == Storage::f16 ? arithmetic::narrow_f16(values, count, bits)
                              : arithmetic::narrow_bf16(values, count, bits);
      return;
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    store_element(to + static_cast<std::int64_t>(i) * stride, storage, values[i]);
  }
}

}  // namespace softcheck::kernels::call
