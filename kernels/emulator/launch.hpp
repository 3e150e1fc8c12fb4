#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernels/emulator/finding.hpp"

namespace softcheck::kernels::emulator {

class Block;

/// The function that every thread of every block runs. It may write only through views: the emulator does not see
/// writes to captured variables.
using Kernel = std::function<void(Block&)>;

/// The grid of a launch, one-dimensional. Blocks of a cluster run at the same time and reach each other's shared
/// memory. All blocks of a cooperative launch run at the same time and may wait for each other's signals.
struct LaunchShape {
  std::int64_t blocks = 1;       // >= 0
  int threads = 32;              // of a block: 1 to 1024
  std::size_t shared_bytes = 0;  // of a block: at most 227 KiB
  int cluster = 1;               // blocks of a cluster, 1 to 16: they divide blocks, and have whole warps
  bool cooperative = false;      // without clusters; whole warps, and at most 32,767 threads
};

/// Which thread the machine runs next, among those that do not wait, when the current one waits or ends.
enum class Schedule {
  forward,  // the next by rank
  reverse,  // the previous by rank, and blocks in reverse order
  greedy,   // the current one while it does not wait: the thread that opens a barrier leaves it first
  random    // any, and blocks in any order, from a seed; the machine also interrupts threads at memory accesses
};
/// All of them.
inline constexpr Schedule schedules[] = {Schedule::forward, Schedule::reverse, Schedule::greedy, Schedule::random};

const char* to_string(Schedule schedule);

/// How to run a launch.
struct LaunchOptions {
  Schedule schedule = Schedule::forward;
  std::uint64_t seed = 1;  // of the random schedule
  // Buffers of global memory in which the machine looks for races, also between blocks. It does not see races
  // elsewhere.
  std::span<const std::span<std::byte>> traced = {};
};

/// The defects that a launch has shown, and counts of its operations.
struct LaunchReport {
  std::vector<Finding> findings;
  std::int64_t barriers = 0;         // completed, over all blocks
  std::int64_t warp_operations = 0;  // completed, over all warps
  std::int64_t switches = 0;         // from one thread to another

  bool clean() const { return findings.empty(); }
  /// One line a finding.
  std::string text() const;
};

/// Runs kernel once in every thread of the grid, on the caller's thread of the operating system; blocks or clusters one
/// after another, in the order of the schedule. A barrier that can never open, and too little shared memory, end the
/// launch. After any other finding the launch continues: a read outside a view returns the bits of a NaN, a write
/// outside is dropped.
///
/// throws   std::invalid_argument on a shape that no GPU has, and inside a kernel; any exception of the kernel
LaunchReport launch(const LaunchShape& shape, const Kernel& kernel, const LaunchOptions& options = {});

/// Launches the kernel under the forward, reverse and greedy schedules and under random_schedules random ones, each
/// time from the same contents of written, and compares the results bit for bit: a difference is a finding,
/// schedule_dependent. It stops at the first schedule with a finding, and leaves the results of the last launch in
/// written.
///
/// written   all the global memory that the kernel writes; it is traced for races
/// throws    as launch
LaunchReport launch_under_all_schedules(const LaunchShape& shape, std::span<const std::span<std::byte>> written,
                                        const Kernel& kernel, int random_schedules = 3);

}  // namespace softcheck::kernels::emulator
