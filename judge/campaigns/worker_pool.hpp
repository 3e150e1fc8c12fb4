#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace softcheck::proptests {

/// A job throws this if no later job could succeed, as on a full disk.
class CannotGoOn : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct PoolOptions {
  unsigned processes = 1;
  int tries = 3;  // for jobs whose process dies
  std::function<bool()> interrupted = {};
  std::function<void(std::size_t done)> progress = {};  // called after each job, and five times a second
};

struct PoolOutcome {
  struct Failure {
    std::size_t job;
    bool died;         // the process died in every try; else it threw
    std::string what;  // "signal 9", or the exception's message
  };
  std::size_t done = 0;
  std::vector<Failure> failures;  // by job
  std::string stopped;            // the message of CannotGoOn; empty if no job threw it
  bool interrupted = false;
};

/// Runs job(0) to job(jobs - 1), each in a fork of this process, a limited number at a time. Repeats a job whose
/// process dies; a job that throws has failed, and the others continue. If this process is interrupted or dies, the
/// forks end, too. Jobs leave their results in files; nothing is undone.
///
/// No other thread may run in this process. A job that throws Interrupted, because its process was asked to end, is
/// repeated as if the process had died.
///
/// throws   std::invalid_argument if processes == 0 or tries < 1; std::system_error if fork fails
PoolOutcome run_in_forks(std::size_t jobs, const std::function<void(std::size_t)>& job, const PoolOptions& options);

}  // namespace softcheck::proptests
