#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kernels/emulator/fiber.hpp"
#include "kernels/emulator/launch.hpp"
#include "kernels/emulator/shared_memory.hpp"
#include "kernels/emulator/warp_operation.hpp"

namespace softcheck::kernels::emulator {

/// What the calls of a kernel throw in every thread once a finding has ended the launch. A kernel does not catch it.
struct LaunchAbandoned {};

/// Runs the blocks of one launch, one after another, each thread of the block on its own fiber. One thread runs at a
/// time, until it waits, ends or, under the random schedule, accesses memory.
class Machine {
 public:
  Machine(const LaunchShape& shape, const LaunchOptions& options, const Kernel& kernel);

  /// Runs all blocks, once; rethrows an exception of the kernel.
  LaunchReport run();

  /// The machine whose launch runs on this thread of the operating system; nullptr outside of a launch.
  static Machine* running();

  const LaunchShape& shape() const { return shape_; }
  int current() const { return current_; }
  std::int64_t block_index() const { return block_; }
  SharedMemory& shared() { return shared_; }
  TracedMemory& traced() { return traced_; }
  Findings& findings() { return findings_; }

  // The requests of a thread, by its rank. Each may run other threads before it returns.
  void sync(int rank, SourceLine where);
  void warp_operation(int rank, const WarpOperation& operation);
  void touch(int rank, SourceLine where);
  Actor actor(int rank) const;
  [[noreturn]] void abandon(Finding finding);

 private:
  enum class State { ready, at_barrier, at_warp, done };
  struct Thread {
    State state = State::done;
    SourceLine last;          // the line of its last request
    WarpOperation operation;  // while at_warp
    std::uint32_t time = 1;   // number of warp barriers that this lane has passed
    std::array<std::uint32_t, 32> seen{};
  };

  void run_block(std::int64_t block);
  void run_thread(int rank);
  int next_thread();
  Thread& thread_at(int rank, SourceLine where);
  void wait(int rank, State state);
  void open_barrier();
  bool complete(int first, const WarpOperation& operation) const;
  void carry_out(int first, const WarpOperation& operation);
  void order_lanes(int first, unsigned mask);
  void report_stuck();
  Finding stuck_warp(int rank) const;
  Finding stuck_barrier() const;
  std::string doing(int rank) const;
  template <class Chosen>
  std::string ranks(Chosen chosen) const;

  LaunchShape shape_;
  LaunchOptions options_;
  const Kernel& kernel_;
  Findings findings_;
  SharedMemory shared_;
  TracedMemory traced_;
  std::vector<Thread> threads_;
  std::vector<std::function<void()>> jobs_;
  std::vector<std::unique_ptr<Fiber>>& fibers_;
  std::mt19937_64 random_;
  std::int64_t block_ = 0;
  int current_ = 0;
  int waiting_at_barrier_ = 0;
  int left_ = 0;
  std::uint32_t epoch_ = 0;
  bool abandoned_ = false;
  std::exception_ptr thrown_;
  LaunchReport report_;
};

}  // namespace softcheck::kernels::emulator
