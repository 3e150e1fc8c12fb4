#pragma once

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

namespace softcheck::kernels::arithmetic {

/// Memory on a cache line's boundary. From half a huge page on it uses huge pages, if the system has them: the
/// processor then rarely walks page tables.
template <class T>
class AlignedArray {
 public:
  /// Not set to anything.
  explicit AlignedArray(std::size_t size) : AlignedArray(Bytes(size)) {}
  AlignedArray(std::size_t size, T value) : AlignedArray(size) { std::fill(data_.get(), data_.get() + size, value); }
  T* get() const { return data_.get(); }

 private:
  static constexpr std::size_t huge_page = std::size_t{1} << 21;

  struct Bytes {
    explicit Bytes(std::size_t size) : count(std::max<std::size_t>(size, 1) * sizeof(T)) {
#if defined(__linux__)
      if (count >= huge_page / 2) {
        count = (count + huge_page - 1) / huge_page * huge_page;
        alignment = std::align_val_t{huge_page};
      }
#endif
    }
    std::size_t count;
    std::align_val_t alignment{64};
  };

  explicit AlignedArray(const Bytes& bytes)
      : data_(static_cast<T*>(::operator new(bytes.count, bytes.alignment)), Delete{bytes.alignment}) {
#if defined(__linux__)
    if (bytes.alignment == std::align_val_t{huge_page}) {
      madvise(data_.get(), bytes.count, MADV_HUGEPAGE);  // a hint: it changes no result, and may fail
    }
#endif
  }

  struct Delete {
    std::align_val_t alignment;
    void operator()(T* data) const { ::operator delete(data, alignment); }
  };
  std::unique_ptr<T, Delete> data_;
};

}  // namespace softcheck::kernels::arithmetic
