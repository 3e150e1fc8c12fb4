#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "kernels/emulator/finding.hpp"

namespace softcheck::kernels::emulator {

/// Who accesses memory, and what came before: the block's barriers so far, the warp barriers of this lane, and for each
/// lane of its warp, up to which of that lane's warp barriers its accesses are ordered before this one.
struct Actor {
  int rank;
  std::uint32_t epoch;
  std::uint32_t time;
  const std::array<std::uint32_t, 32>* seen;
};

/// One element of a view: index in the view, place in the block's shared memory.
struct SharedElement {
  std::int64_t index;
  std::size_t offset;
  std::size_t size;
};

/// The shared memory of a block, poisoned with NaN patterns, and what is known of each of its bytes: the last write and
/// the last reads. Two accesses to a byte by different threads race where one is a write, not both are atomic, and no
/// barrier lies between.
class SharedMemory {
 public:
  SharedMemory(std::size_t bytes, Findings& findings);

  /// Poisons everything; epoch is one that no earlier block has met.
  void begin_block(std::uint32_t epoch);
  std::byte* data() { return bytes_.data(); }
  std::size_t size() const { return bytes_.size(); }

  void on_read(const SharedElement& element, const Actor& actor, SourceLine where);
  void on_write(const SharedElement& element, const Actor& actor, SourceLine where);
  void on_atomic(const SharedElement& element, const Actor& actor, SourceLine where);

 private:
  struct Access {
    std::uint32_t epoch = 0;  // 0: none
    std::uint32_t time = 0;
    std::uint32_t line = 0;  // 0: poisoned memory that was read
    std::int16_t rank = -1;
    bool atomic = false;
  };
  // Three reads are kept, as a later write by the last reader's own thread, or of its own warp, must find another's.
  struct Cell {
    Access write, read, read_of_another_lane, read_of_another_warp;
  };
  enum class Use { read, write, atomic };

  static bool races(const Access& earlier, const Actor& actor, bool both_atomic);
  void check_written(Cell& cell, const SharedElement& element, const Actor& actor, SourceLine where);
  void report_race(const Access& earlier, const char* earlier_verb, const char* verb, const SharedElement& element,
                   const Actor& actor, SourceLine where);
  bool check_reads(const Cell& cell, const char* verb, const SharedElement& element, const Actor& actor,
                   SourceLine where);
  void note_read(Cell& cell, const Access& access);
  std::uint32_t line_number(SourceLine where);

  std::vector<std::byte> bytes_;
  std::unique_ptr<Cell[]> cells_;
  Findings& findings_;
  std::uint32_t first_epoch_ = 1;
  std::vector<SourceLine> lines_;
  std::array<std::uint32_t, 64> line_cache_{};
};

}  // namespace softcheck::kernels::emulator
