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

/// What runs in every thread of every block. Only its arguments are shared: no captured variable is written.
using Kernel = std::function<void(Block&)>;

struct LaunchShape {
  std::int64_t blocks = 1;  // >= 0
  int threads = 32;         // of a block: 1 to 1024
  std::size_t shared_bytes = 0;
};

/// Which of the threads that can run goes on, wherever one waits.
enum class Schedule {
  forward,  // the next by rank
  reverse,  // the previous
  greedy,   // the same one, for as long as it can: a barrier is left by whoever closes it
  random    // any, from a seed; threads are interrupted at memory accesses too
};
inline constexpr Schedule schedules[] = {Schedule::forward, Schedule::reverse, Schedule::greedy, Schedule::random};

const char* to_string(Schedule schedule);

struct LaunchOptions {
  Schedule schedule = Schedule::forward;
  std::uint64_t seed = 1;  // of the random schedule
  // Global memory in which races are looked for, between blocks too; of what lies elsewhere only results tell.
  std::span<const std::span<std::byte>> traced = {};
};

struct LaunchReport {
  std::vector<Finding> findings;
  std::int64_t barriers = 0;         // completed, over all blocks
  std::int64_t warp_operations = 0;  // completed, over all warps
  std::int64_t switches = 0;         // from one thread to another

  bool clean() const { return findings.empty(); }
  /// One line a finding.
  std::string text() const;
};

/// Runs kernel once in every thread of the grid; blocks one after another, in the order of the schedule. A finding that
/// nothing can go on from (a barrier that never opens) ends the launch; after others it goes on: a bad read gives
/// NaN's bits, a bad write is dropped.
///
/// throws   std::invalid_argument on a shape that no GPU has; whatever the kernel throws
LaunchReport launch(const LaunchShape& shape, const Kernel& kernel, const LaunchOptions& options = {});

/// The launch under forward, reverse and greedy schedules and random_schedules seeds, each from the same contents of
/// written (all the memory that the kernel writes), which is traced and must have the same bits afterwards each time.
/// Ends at the
/// first schedule with a finding; leaves the results of the last one.
LaunchReport launch_under_all_schedules(const LaunchShape& shape, std::span<const std::span<std::byte>> written,
                                        const Kernel& kernel, int random_schedules = 3);

}  // namespace softcheck::kernels::emulator
