#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

namespace softcheck::kernels::arithmetic {

/// Memory on a cache line's boundary.
template <class T>
class AlignedArray {
 public:
  /// Not set to anything.
  explicit AlignedArray(std::size_t size)
      : data_(static_cast<T*>(::operator new(std::max<std::size_t>(size, 1) * sizeof(T), alignment))) {}
  AlignedArray(std::size_t size, T value) : AlignedArray(size) { std::fill(data_.get(), data_.get() + size, value); }
  T* get() const { return data_.get(); }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Delete {
    void operator()(T* data) const { ::operator delete(data, alignment); }
  };
  std::unique_ptr<T, Delete> data_;
};

}  // namespace softcheck::kernels::arithmetic
