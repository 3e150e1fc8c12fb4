#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
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

/// One element of a view: index in the view, place in the block's shared memory or in a traced buffer.
struct SharedElement {
  std::int64_t index;
  std::size_t offset;
  std::size_t size;
};

/// What is known of each byte of some memory: the last write and the last reads. Two accesses to a byte by different
/// threads race where one is a write, not both are atomic, and no barrier lies between. Between blocks there is none.
class ShadowMemory {
 public:
  /// A block's own memory is poison at first: what is read must have been written. name: "shared memory".
  ShadowMemory(std::size_t bytes, bool of_block, const char* name, Findings& findings);

  /// epoch is one that no earlier block has met.
  void begin_block(std::uint32_t epoch) { first_epoch_ = epoch; }

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

  /// In shared memory, what another block did is gone.
  bool of_another_block(const Access& access) const {
    return !of_block_ && access.line != 0 && access.epoch < first_epoch_;
  }
  bool races(const Access& earlier, const Actor& actor, bool both_atomic) const;
  void check_written(Cell& cell, const SharedElement& element, const Actor& actor, SourceLine where);
  void report_race(const Access& earlier, const char* earlier_verb, const char* verb, const SharedElement& element,
                   const Actor& actor, SourceLine where);
  bool check_reads(const Cell& cell, const char* verb, const SharedElement& element, const Actor& actor,
                   SourceLine where);
  void note_read(Cell& cell, const Access& access);
  std::uint32_t line_number(SourceLine where);

  bool of_block_;
  const char* name_;
  std::unique_ptr<Cell[]> cells_;
  Findings& findings_;
  std::uint32_t first_epoch_ = 1;
  std::vector<SourceLine> lines_;
  std::array<std::uint32_t, 64> line_cache_{};
};

/// The shared memory of a block, poisoned with NaN patterns for each.
class SharedMemory {
 public:
  SharedMemory(std::size_t bytes, Findings& findings)
      : bytes_(bytes), shadow_(bytes, true, "shared memory", findings) {}

  void begin_block(std::uint32_t epoch);
  std::byte* data() { return bytes_.data(); }
  ShadowMemory& shadow() { return shadow_; }

 private:
  std::vector<std::byte> bytes_;
  ShadowMemory shadow_;
};

/// Buffers of global memory that are traced.
class TracedMemory {
 public:
  TracedMemory(std::span<const std::span<std::byte>> buffers, Findings& findings);

  void begin_block(std::uint32_t epoch);
  /// The shadow of the buffer that address lies in, and where; nullptr where it is in none.
  ShadowMemory* find(const std::byte* address, std::size_t& offset);

 private:
  struct Buffer {
    std::span<std::byte> bytes;
    ShadowMemory shadow;
  };
  std::vector<Buffer> buffers_;
};

}  // namespace softcheck::kernels::emulator
