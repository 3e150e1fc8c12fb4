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
#include "kernels/emulator/knowledge.hpp"
#include "kernels/emulator/launch.hpp"
#include "kernels/emulator/shared_memory.hpp"
#include "kernels/emulator/warp_operation.hpp"

namespace softcheck::kernels::emulator {

/// What the calls of a kernel throw in every thread once a finding has ended the launch. A kernel does not catch it.
struct LaunchAbandoned {};

/// Runs the clusters of one launch, one after another, each thread of a cluster on its own fiber; of a cooperative
/// launch all blocks, as if they were one cluster. Ranks count through the blocks that run at once. One thread runs at
/// a time, until it waits, ends or, under the random schedule, accesses memory.
class Machine {
 public:
  Machine(const LaunchShape& shape, const LaunchOptions& options, const Kernel& kernel);

  /// Runs all blocks, once; rethrows an exception of the kernel.
  LaunchReport run();

  /// The machine whose launch runs on this thread of the operating system; nullptr outside of a launch.
  static Machine* running();

  const LaunchShape& shape() const { return shape_; }
  int current() const { return current_; }
  std::int64_t block_index() const { return block_; }  // the first one that runs
  /// The place of a block's shared memory in that of all blocks that run, by a rank.
  std::size_t shared_begin(int rank) const { return static_cast<std::size_t>(rank / shape_.threads) * shared_stride_; }
  /// Reports an access to another block's memory unless barriers of the cluster stand between the block's beginning,
  /// the access and the block's end.
  void check_present(int rank, std::size_t offset, SourceLine where);
  SharedMemory& shared() { return shared_; }
  TracedMemory& traced() { return traced_; }
  Findings& findings() { return findings_; }

  // The requests of a thread, by its rank. Each may run other threads before it returns.
  void sync(int rank, SourceLine where);
  void sync_cluster(int rank, SourceLine where);
  void signal(int rank, std::uint32_t* counter, SourceLine where);
  void wait_for(int rank, const std::uint32_t* counter, std::uint32_t count, SourceLine where);
  void warp_operation(int rank, const WarpOperation& operation);
  void touch(int rank, SourceLine where);
  Actor actor(int rank) const;
  [[noreturn]] void abandon(Finding finding);

 private:
  enum class State { ready, at_barrier, at_cluster, at_counter, at_warp, done };
  struct Thread {
    State state = State::done;
    SourceLine last;          // the line of its last request
    WarpOperation operation;  // while at_warp
    std::uint32_t time = 1;   // number of warp barriers that this lane has passed
    std::array<std::uint32_t, 32> seen{};
    const std::uint32_t* counter = nullptr;  // while at_counter
    std::uint32_t count = 0;
  };

  int threads() const { return shape_.threads * at_once_; }
  void run_cluster(std::int64_t first_block);
  void report_absent(int block, SourceLine where, const char* why);
  void run_thread(int rank);
  int next_thread();
  Thread& thread_at(int rank, SourceLine where);
  void wait(int rank, State state);
  void meet(int rank, State state, SourceLine where);
  void open_barrier(int first, int count);
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
  int at_once_;  // blocks that run at the same time
  LaunchOptions options_;
  const Kernel& kernel_;
  std::size_t shared_stride_;
  Findings findings_;
  SharedMemory shared_;
  TracedMemory traced_;
  std::vector<Thread> threads_;
  std::vector<std::function<void()>> jobs_;
  std::vector<std::unique_ptr<Fiber>>& fibers_;
  std::mt19937_64 random_;
  std::int64_t block_ = 0;
  int current_ = 0;
  std::vector<int> waiting_;  // at the barrier of each block of the cluster, and at that of all
  int left_ = 0;
  std::uint32_t epoch_ = 0, cluster_epoch_ = 0;
  std::uint32_t first_epoch_ = 0;      // of the cluster
  std::vector<std::uint32_t> epochs_;  // of each block of the cluster
  std::vector<SourceLine> reached_;    // where another block last reached for a block's memory, since the last barrier
  Signals signals_;
  // Of each block of a cooperative launch: before the last barrier, and what follows from waiting since.
  std::vector<Knowledge> known_, behind_barrier_;
  bool abandoned_ = false;
  std::exception_ptr thrown_;
  LaunchReport report_;
};

}  // namespace softcheck::kernels::emulator
