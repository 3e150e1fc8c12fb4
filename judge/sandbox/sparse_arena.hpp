#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "judge/sandbox/guarded_pages.hpp"

namespace softcheck::proptests {

/// Addresses for tensors of gigabytes with few pages present, reserved once. A process forked later has the same
/// addresses; a table in shared memory lists the pages that it must open. A page exists from the first write to it
/// until its tensor is destroyed.
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
