#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/arithmetic/format_bits.hpp"
#include "kernels/call/attention_views.hpp"
#include "kernels/cpu/machine.hpp"

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

}  // namespace softcheck::kernels::cpu
