#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "proptests/judge/guarded_pages.hpp"

namespace softcheck::proptests {

/// Addresses for tensors of gigabytes of which hardly a page is there, reserved once: a process that is forked later
/// has them too, and is told by a table in shared memory which pages to open. Pages exist from when they are first
/// written to until the tensor that they belong to is gone.
class SparseArena {
 public:
  /// throws   std::system_error when the system does not give so many addresses
  SparseArena(std::size_t slots, std::size_t bytes_per_slot);
  ~SparseArena();
  SparseArena(const SparseArena&) = delete;
  SparseArena& operator=(const SparseArena&) = delete;

  std::byte* begin() const { return addresses_; }
  std::size_t size() const { return slots_ * bytes_; }
  /// Pages in the addresses of one tensor.
  PageSlot slot(std::size_t index) const { return {addresses_ + index * bytes_, bytes_}; }
  /// Copies the places that are open of one tensor to where child processes see them.
  std::span<const ByteRange> publish(std::size_t index, std::span<const ByteRange> places);

 private:
  std::size_t slots_, bytes_;
  std::byte* addresses_ = nullptr;
  ByteRange* table_ = nullptr;
};

}  // namespace softcheck::proptests
