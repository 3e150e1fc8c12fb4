#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace softcheck::proptests {

/// The byte that fills all memory in which no call has put anything. Inputs: a NaN in every format, so that a stray
/// read shows. Outputs: a positive number in every format, larger than any coefficient or entropy, so that an unwritten
/// element shows even if a NaN is expected.
enum class Filling : std::uint8_t { input = 0xff, output = 0x7b };

/// Bytes [begin, end) of a buffer.
struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// A reserved range of addresses: shared pages without access, owned by another object.
struct PageSlot {
  std::byte* begin = nullptr;
  std::size_t size = 0;
};

/// Memory shared with child processes, between inaccessible pages: an access one element beyond either end is a
/// segmentation fault. Between calls a view's bytes and those around it hold the filling, so the judge detects a late
/// write just as it detects a write outside the view.
class GuardedPages {
 public:
  /// Most separate ranges of one buffer: a quarter of the mappings that Linux allows a process.
  static constexpr std::size_t most_islands = 16384;
  /// Additional addresses that a buffer needs for its guards and for rounding to pages.
  static constexpr std::size_t around = std::size_t{1} << 20;

  GuardedPages(std::size_t bytes, Filling filling);  // bytes rounded up to pages
  /// A range of `bytes` addresses in which only the pages of `used` are accessible: gigabytes between two rows cost
  /// nothing, and an access outside the used rows is a segmentation fault.
  ///
  /// used     not empty, in any order
  /// slot     where to put it; empty: anywhere
  /// throws   std::invalid_argument if used does not lie in [0, bytes), has more than most_islands separate ranges, or
  ///          the slot is smaller than bytes + around
  GuardedPages(std::size_t bytes, Filling filling, std::span<const ByteRange> used, PageSlot slot = {});
  ~GuardedPages();
  GuardedPages(const GuardedPages&) = delete;
  GuardedPages& operator=(const GuardedPages&) = delete;

  std::size_t size() const { return size_; }
  std::byte* begin() const { return begin_; }
  /// The pages of the view that was placed last and of its surroundings; empty before the first view, and for sparse
  /// buffers.
  ByteRange watched() const { return sparse_ || watched_.empty() ? ByteRange{} : watched_.front(); }
  std::byte filling() const { return filling_; }
  /// The accessible ranges, in whole pages; empty if all pages are accessible.
  std::span<const ByteRange> islands() const { return sparse_ ? std::span(watched_) : std::span<const ByteRange>(); }
  /// Places a view at one end of the pages and returns its address. The view and at least 64 KiB around it hold the
  /// filling.
  /// throws   std::invalid_argument when bytes > size()
  std::byte* place(std::size_t bytes, bool against_the_end);
  /// Do the last view and its surroundings hold only the filling? Restores the filling.
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
  std::size_t filled_front_ = 0;    // this many bytes at the front hold the filling or a view
  std::size_t filled_back_ = 0;     // and at the back
  bool reserved_ = false;           // another object owns the addresses: only the pages are freed
  bool sparse_ = false;             // watched_ lists all accessible pages
  std::vector<ByteRange> watched_;  // surroundings of the view that was placed last
};

/// Addresses for tensors of gigabytes, of which few pages exist. They are reserved once, so that processes forked later
/// have the same addresses; a table in shared memory lists the pages that such a process must open. A page exists from
/// the first write until its tensor is destroyed.
class SparseArena {
 public:
  /// throws   std::system_error if the system does not provide the addresses
  SparseArena(std::size_t slots, std::size_t bytes_per_slot);
  ~SparseArena();
  SparseArena(const SparseArena&) = delete;
  SparseArena& operator=(const SparseArena&) = delete;

  std::byte* begin() const { return addresses_; }
  std::size_t size() const { return slots_ * bytes_; }
  /// The addresses of one tensor.
  PageSlot slot(std::size_t index) const { return {addresses_ + index * bytes_, bytes_}; }
  /// Copies the open ranges of one tensor to shared memory, where child processes see them.
  std::span<const ByteRange> publish(std::size_t index, std::span<const ByteRange> places);

 private:
  std::size_t slots_, bytes_;
  std::byte* addresses_ = nullptr;
  ByteRange* table_ = nullptr;
};

}  // namespace softcheck::proptests
