#pragma once

#include "kernels/call/elements.hpp"
#include "kernels/strict/machine.hpp"

namespace softcheck::kernels::strict {

/// count numbers of a tensor as T (float or double), widened exactly.
///
/// first     the address of the first number, of any alignment
/// stride    bytes from one number to the next
/// buffer    (count), written where the numbers do not lie as contiguous, aligned T
/// returns   (count): the tensor's own memory where they do, else buffer
template <class T>
const T* elements(const std::byte* first, Storage storage, std::int64_t stride, std::size_t count, T* buffer) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(first) % alignof(T) == 0;
  if (storage == native_storage<T> && stride == sizeof(T) && aligned) return reinterpret_cast<const T*>(first);
  if (widen_elements(first, storage, stride, count, buffer)) return buffer;
  for (std::size_t i = 0; i < count; ++i) {
    buffer[i] = load_element<T>(first + static_cast<std::int64_t>(i) * stride, storage);
  }
  return buffer;
}

}  // namespace softcheck::kernels::strict
