#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "kernels/emulator/finding.hpp"
#include "kernels/emulator/knowledge.hpp"

namespace softcheck::kernels::emulator {

/// A thread that accesses memory, and the barriers before the access.
struct Actor {
  int rank;
  std::uint32_t epoch;                        // grows at each barrier of the block and at each beginning of one
  std::uint32_t time;                         // 1 and the warp barriers of this lane so far
  const std::array<std::uint32_t, 32>* seen;  // of each lane of the warp: accesses before its warp barrier number seen
                                              // are ordered before this access
  int threads;                                // of a block: ranks count through the blocks of a cluster
  std::uint32_t cluster_epoch;                // the epoch of all blocks behind the last barrier of the cluster
  const Knowledge* known = nullptr;           // by its block, of a cooperative launch
};

/// One element of a view, or several that move at once: its index in the view, its offset in bytes in the block's
/// shared memory or in a traced buffer, and its bytes.
struct SharedElement {
  std::int64_t index;
  std::size_t offset;
  std::size_t size;
};

/// The last write and the last reads of each byte of some memory. Two accesses to a byte by different threads race
/// where one is a write, not both are atomic, and no barrier orders them. Only the barrier of a cluster, and signals in
/// a cooperative launch, order accesses of two blocks.
class ShadowMemory {
 public:
  /// of_block   whether the memory is a block's shared memory: a read before a write is then a finding
  /// name       of the memory, for messages: "shared memory"
  ShadowMemory(std::size_t bytes, bool of_block, const char* name, Findings& findings);

  /// A block begins. The caller passes an epoch that is later than those of the blocks before.
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
  // Three reads are kept: a later write by the last reader's own thread must find the read of another lane, and a write
  // from its warp the read of another warp.
  struct Cell {
    Access write, read, read_of_another_lane, read_of_another_warp;
  };
  enum class Use { read, write, atomic };

  /// Whether a block before this one made the access. Shared memory does not outlive its block: there the answer is no.
  bool of_another_block(const Access& access) const {
    return !of_block_ && access.line != 0 && access.epoch < first_epoch_;
  }
  bool races(const Access& earlier, const Actor& actor, bool both_atomic) const;
  void check_written(Cell& cell, const SharedElement& element, const Actor& actor, SourceLine where);
  void report_race(const Access& earlier, const char* earlier_verb, const char* verb, const SharedElement& element,
                   const Actor& actor, SourceLine where);
  bool check_reads(const Cell& cell, const char* verb, const SharedElement& element, const Actor& actor,
                   SourceLine where);
  void note_read(Cell& cell, const Access& access, const Actor& actor);
  std::uint32_t line_number(SourceLine where);

  bool of_block_;
  const char* name_;
  std::unique_ptr<Cell[]> cells_;
  Findings& findings_;
  std::uint32_t first_epoch_ = 1;
  std::vector<SourceLine> lines_;
  std::array<std::uint32_t, 64> line_cache_{};
};

/// The shared memory of the blocks of a cluster, one behind the other. At the beginning of each cluster the machine
/// fills it with the bits of poisoned().
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

/// The buffers of global memory in which a launch looks for races (LaunchOptions::traced).
class TracedMemory {
 public:
  TracedMemory(std::span<const std::span<std::byte>> buffers, Findings& findings);

  void begin_block(std::uint32_t epoch);
  /// The shadow of the buffer that address lies in, and the offset there in bytes; nullptr if it lies in none.
  ShadowMemory* find(const std::byte* address, std::size_t& offset);

 private:
  struct Buffer {
    std::span<std::byte> bytes;
    ShadowMemory shadow;
  };
  std::vector<Buffer> buffers_;
};

}  // namespace softcheck::kernels::emulator
