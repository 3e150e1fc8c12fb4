#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/cpu/machine.hpp"

namespace softcheck::kernels::cpu {

/// Tasks that go through the same steps one after the other. Threads take tasks in order, and a task waits only for
/// earlier ones: the first never waits, so there is no deadlock.
class TaskTurns {
 public:
  static constexpr std::int64_t all = std::numeric_limits<std::int64_t>::max();

  explicit TaskTurns(std::int64_t tasks) : made_(static_cast<std::size_t>(tasks)) {}

  /// Waits until the task has made this many steps.
  void await(std::int64_t task, std::int64_t steps) {
    std::atomic<std::int64_t>& made = made_[static_cast<std::size_t>(task)];
    for (std::int64_t seen = made.load(std::memory_order_acquire); seen < steps;
         seen = made.load(std::memory_order_acquire)) {
      made.wait(seen, std::memory_order_acquire);
    }
  }
  void make(std::int64_t task, std::int64_t steps) {
    made_[static_cast<std::size_t>(task)].store(steps, std::memory_order_release);
    made_[static_cast<std::size_t>(task)].notify_all();
  }
  void end(std::int64_t task) { make(task, all); }

 private:
  std::vector<std::atomic<std::int64_t>> made_;
};

}  // namespace softcheck::kernels::cpu
