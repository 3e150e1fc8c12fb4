#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace softcheck::proptests {

/// What pages hold where no call has put anything, one byte over and over. Inputs: a NaN in every format, so that a
/// stray read shows. Outputs: a positive number in every format, beyond any coefficient or entropy, so that what was
/// never written shows even where a NaN is expected.
enum class Filling : std::uint8_t { input = 0xff, output = 0x7b };

/// Bytes [begin, end), counted from the beginning of a buffer.
struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Addresses that another object has reserved as shared pages without access.
struct PageSlot {
  std::byte* begin = nullptr;
  std::size_t size = 0;
};

/// Memory shared with child processes, between pages without access: an access one element beyond either end is a
/// segmentation fault. Between calls the bytes of a view and those beside it hold the filling, so the judge detects a
/// write after a call like a write beside the view.
class GuardedPages {
 public:
  /// The most separate places of one buffer: a quarter of what Linux lets a process map.
  static constexpr std::size_t most_islands = 16384;
  /// Addresses beyond its bytes that a buffer takes for its guards and for whole pages.
  static constexpr std::size_t around = std::size_t{1} << 20;

  GuardedPages(std::size_t bytes, Filling filling);  // bytes rounded up to pages
  /// An address range of so many bytes in which only the pages of `used` are accessible: gigabytes between two rows
  /// cost nothing, and an access outside the rows in use is a segmentation fault.
  ///
  /// used     not empty, in any order
  /// slot     where it is to lie; nothing: anywhere
  /// throws   std::invalid_argument when used does not lie in [0, bytes), or in more than most_islands separate places,
  ///          or the slot has less than bytes + around
  GuardedPages(std::size_t bytes, Filling filling, std::span<const ByteRange> used, PageSlot slot = {});
  ~GuardedPages();
  GuardedPages(const GuardedPages&) = delete;
  GuardedPages& operator=(const GuardedPages&) = delete;

  std::size_t size() const { return size_; }
  std::byte* begin() const { return begin_; }
  /// Of the view placed last and what lies around it, whole pages; nothing before the first. For pages that are all
  /// there.
  ByteRange watched() const { return sparse_ || watched_.empty() ? ByteRange{} : watched_.front(); }
  std::byte filling() const { return filling_; }
  /// The accessible ranges, in whole pages, where not all pages are accessible.
  std::span<const ByteRange> islands() const { return sparse_ ? std::span(watched_) : std::span<const ByteRange>(); }
  /// The beginning of a view of bytes at one end of the pages; it and at least 64 KiB around it hold the filling.
  /// throws   std::invalid_argument when bytes > size()
  std::byte* place(std::size_t bytes, bool against_the_end);
  /// Does the view placed last hold nothing but the filling, and what lies around it? Afterwards it does.
  bool restore();

 private:
  void reserve(std::size_t bytes, PageSlot slot = {});
  void open(const ByteRange& range) const;
  void fill(const ByteRange& range) const;

  std::byte* mapping_ = nullptr;
  std::size_t mapping_size_ = 0;
  std::byte* begin_ = nullptr;
  std::size_t size_ = 0;
  std::byte filling_;
  std::size_t filled_front_ = 0;    // so many bytes at the front hold the filling, or a view
  std::size_t filled_back_ = 0;     // and at the back
  bool reserved_ = false;           // by another object: the pages are freed, the addresses stay
  bool sparse_ = false;             // watched_ has all accessible pages
  std::vector<ByteRange> watched_;  // of the view placed last
};

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
