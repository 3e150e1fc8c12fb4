#include "judge/campaigns/worker_pool.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <new>
#include <stdexcept>

namespace softcheck::proptests {
namespace {

/// How often each job was begun, for all forks to see.
class Counts {
 public:
  Counts() {
    void* shared = mmap(nullptr, sizeof(Numbers), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) throw std::bad_alloc();
    numbers_ = new (shared) Numbers{};
  }
  ~Counts() { munmap(numbers_, sizeof(Numbers)); }
  Counts(const Counts&) = delete;
  Counts& operator=(const Counts&) = delete;
  std::atomic<int>& operator[](std::size_t job) const { return (*numbers_)[job]; }

 private:
  using Numbers = std::array<std::atomic<int>, 32>;
  Numbers* numbers_;
};

PoolOptions pool_of(unsigned processes) {
  PoolOptions options;
  options.processes = processes;
  return options;
}

TEST(WorkerPool, RunsEveryJobOnce) {
  for (const unsigned processes : {1U, 2U, 5U}) {
    const Counts counts;
    const PoolOutcome outcome = run_in_forks(
        20, [&](std::size_t job) { ++counts[job]; }, pool_of(processes));
    EXPECT_EQ(outcome.done, 20U);
    EXPECT_TRUE(outcome.failures.empty() && outcome.stopped.empty() && !outcome.interrupted);
    for (std::size_t job = 0; job < 20; ++job) EXPECT_EQ(counts[job], 1) << job;
  }
}

TEST(WorkerPool, AJobWhoseProcessIsKilledIsTriedAgain) {
  const Counts counts;
  const auto job = [&](std::size_t number) {
    const bool first = ++counts[number] == 1;
    if (number == 3 && first) std::raise(SIGKILL);
    if (number == 4 && first) _exit(9);
    if (number == 5) std::raise(SIGKILL);
  };
  const PoolOutcome outcome = run_in_forks(8, job, pool_of(2));
  EXPECT_EQ(outcome.done, 7U);
  EXPECT_EQ(counts[3], 2);
  EXPECT_EQ(counts[4], 2);
  EXPECT_EQ(counts[5], 3);
  ASSERT_EQ(outcome.failures.size(), 1U);
  EXPECT_EQ(outcome.failures[0].job, 5U);
  EXPECT_TRUE(outcome.failures[0].died);
  EXPECT_EQ(outcome.failures[0].what, "signal 9");
}

TEST(WorkerPool, OneThatThrowsDoesNotStopTheOthers) {
  const auto job = [](std::size_t number) {
    if (number % 3 == 0) throw std::runtime_error("job " + std::to_string(number));
  };
  const PoolOutcome outcome = run_in_forks(7, job, pool_of(3));
  EXPECT_EQ(outcome.done, 4U);
  ASSERT_EQ(outcome.failures.size(), 3U);
  EXPECT_EQ(outcome.failures[1].what, "job 3");
  EXPECT_FALSE(outcome.failures[1].died);
}

TEST(WorkerPool, AFullDiskEndsIt) {
  const Counts counts;
  const auto job = [&](std::size_t number) {
    ++counts[number];
    if (number == 2) throw CannotGoOn("no space");
  };
  const PoolOutcome outcome = run_in_forks(20, job, pool_of(1));
  EXPECT_EQ(outcome.stopped, "no space");
  EXPECT_EQ(outcome.done, 2U);
  EXPECT_EQ(counts[3], 0);
}

TEST(WorkerPool, AnInterruptionEndsItsProcesses) {
  const Counts counts;
  PoolOptions options = pool_of(2);
  options.interrupted = [&] { return counts[1] == 1; };
  const auto job = [&](std::size_t number) {
    ++counts[number];
    if (number == 1) sleep(300);
  };
  const PoolOutcome outcome = run_in_forks(20, job, options);
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_LT(outcome.done, 20U);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);  // none is left
}

TEST(WorkerPool, WrongCallsAreRefused) {
  EXPECT_THROW(run_in_forks(
                   1, [](std::size_t) {}, pool_of(0)),
               std::invalid_argument);
  PoolOptions options;
  options.tries = 0;
  EXPECT_THROW(run_in_forks(
                   1, [](std::size_t) {}, options),
               std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::proptests
