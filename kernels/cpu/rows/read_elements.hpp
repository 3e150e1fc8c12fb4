#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/call/elements.hpp"
#include "kernels/cpu/machine.hpp"

namespace softcheck::kernels::cpu {

/// Whether elements from here on, stride bytes apart, can be read as an array of T.
template <class T>
bool lie_in_place(const std::byte* from, Storage storage, std::int64_t stride) {
  return storage == native_storage<T> && stride == sizeof(T) &&
         reinterpret_cast<std::uintptr_t>(from) % alignof(T) == 0;
}

/// count elements, stride bytes apart, as T in buffer.
template <class T>
[[gnu::noinline]] void convert_elements(const std::byte* from, Storage storage, std::int64_t stride, std::size_t count,
                                        T* buffer) {
  if (!widen_elements(from, storage, stride, count, buffer)) {
    for (std::size_t i = 0; i < count; ++i) {
      buffer[i] = load_element<T>(from + static_cast<std::int64_t>(i) * stride, storage);
    }
  }
}

/// count elements, stride bytes apart: in place if they can be read as an array of T, else in buffer.
template <class T>
const T* read_elements(const std::byte* from, Storage storage, std::int64_t stride, std::size_t count, T* buffer) {
  if (lie_in_place<T>(from, storage, stride)) {
    return reinterpret_cast<const T*>(from);
  }
  convert_elements(from, storage, stride, count, buffer);
  return buffer;
}

/// The same, in buffer in any case, filled up with 0 to width.
template <class T>
void copy_elements(const std::byte* from, Storage storage, std::int64_t stride, std::size_t count, std::size_t width,
                   T* buffer) {
  const T* read = read_elements(from, storage, stride, count, buffer);
  if (read != buffer) {
    std::copy(read, read + count, buffer);
  }
  std::fill(buffer + count, buffer + width, T(0));
}

/// Bytes of a mask as numbers, 1 if one is not 0, filled up with 0 to width.
template <class T>
void copy_mask(const std::byte* from, std::int64_t stride, std::size_t count, std::size_t width, T* buffer) {
  for (std::size_t j = 0; j < count; ++j) {
    buffer[j] = from[static_cast<std::int64_t>(j) * stride] == std::byte{0} ? T(0) : T(1);
  }
  std::fill(buffer + count, buffer + width, T(0));
}

}  // namespace softcheck::kernels::cpu
