#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace softcheck::proptests {

/// Thrown by a job where no later one could do better, as on a full disk.
class CannotGoOn : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct PoolOptions {
  unsigned processes = 1;
  int tries = 3;  // of a job whose process dies
  std::function<bool()> interrupted = {};
  std::function<void(std::size_t done)> progress = {};  // told after each job, and five times a second
};

struct PoolOutcome {
  struct Failure {
    std::size_t job;
    bool died;         // in each of its tries; else it threw
    std::string what;  // "signal 9", or what it threw
  };
  std::size_t done = 0;
  std::vector<Failure> failures;  // by job
  std::string stopped;            // what CannotGoOn said; empty: nothing threw it
  bool interrupted = false;
};

/// Runs job(0) to job(jobs - 1), each in a fork of this process, some at a time. A job whose process dies is tried
/// again. One that throws is a failure, and the others go on. When this process is interrupted, or dies of anything, so
/// do the forks. What a job did before it is not undone: jobs leave what they did in files.
///
/// No other thread may run in this process. A job that throws Interrupted, as its process was asked to end, is tried
/// again as if that had died.
/// throws   std::invalid_argument when processes == 0 or tries < 1; std::system_error where there can be no fork
PoolOutcome run_in_forks(std::size_t jobs, const std::function<void(std::size_t)>& job, const PoolOptions& options);

}  // namespace softcheck::proptests
