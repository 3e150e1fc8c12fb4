#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace softcheck::proptests {

/// Memory shared with child processes, between pages that cannot be touched: an access one element beyond either end is
/// a segmentation fault.
class GuardedPages {
 public:
  explicit GuardedPages(std::size_t bytes);  // rounded up to pages
  ~GuardedPages();
  GuardedPages(const GuardedPages&) = delete;
  GuardedPages& operator=(const GuardedPages&) = delete;

  std::span<std::byte> bytes() const { return {begin_, size_}; }

 private:
  std::byte* mapping_;
  std::size_t mapping_size_;
  std::byte* begin_;
  std::size_t size_;
};

/// What a view and its surroundings are filled with, one byte over and over. Inputs: a NaN in every format, so that a
/// stray read shows. Outputs: a positive number in every format, beyond any coefficient or entropy, so that what was
/// never written shows even where a NaN is expected.
enum class Filling : std::uint8_t { input = 0xff, output = 0x7b };

/// A view of bytes at one end of guarded pages, with what lies around it filled so that a stray write shows.
class GuardedView {
 public:
  /// bytes    <= pages.bytes().size()
  GuardedView(const GuardedPages& pages, std::size_t bytes, bool against_the_end, Filling filling);

  std::span<std::byte> bytes() const { return view_; }
  /// Nothing within 64 KiB around the view has been written.
  bool surroundings_intact() const;
  /// These bytes still hold what they were filled with.
  bool untouched(std::span<const std::byte> bytes) const;

 private:
  std::byte filling_;
  std::span<std::byte> view_;
  std::span<std::byte> before_;
  std::span<std::byte> behind_;
};

}  // namespace softcheck::proptests
