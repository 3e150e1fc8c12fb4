#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <vector>

namespace softcheck::kernels::call {

/// SOFTCHECK_THREADS, at most 1024; 1 if it is absent or not a number. One thread is the default because a caller may
/// have forked, may run kernels on its own threads, and may limit memory.
inline unsigned thread_count() {
  const char* wanted = std::getenv("SOFTCHECK_THREADS");
  const long count = wanted == nullptr ? 1 : std::strtol(wanted, nullptr, 10);
  return count < 1 ? 1 : static_cast<unsigned>(count < 1024 ? count : 1024);
}

/// The tasks of several calls, numbered one call's after the other's.
class CallTasks {
 public:
  struct Place {
    std::int64_t call;
    std::int64_t task;  // of that call
  };

  void add(std::int64_t tasks) { ends_.push_back(count() + tasks); }
  std::int64_t count() const { return ends_.empty() ? 0 : ends_.back(); }
  Place operator[](std::int64_t task) const {
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), task);
    return {end - ends_.begin(), task - (end == ends_.begin() ? 0 : end[-1])};
  }

 private:
  std::vector<std::int64_t> ends_;
};

/// Calls make_worker()(i) for each i in [0, tasks), each i once, on up to threads threads with a worker each; the
/// threads end before it returns. Which thread takes which task is chance: no result may depend on it. make_worker runs
/// on the calling thread.
template <class MakeWorker>
void parallel_tasks(std::int64_t tasks, unsigned threads, MakeWorker make_worker) {
  std::atomic<std::int64_t> next{0};
  const auto take_all = [&next, tasks](auto worker) {
    for (std::int64_t i = next++; i < tasks; i = next++) {
      worker(i);
    }
  };
  std::vector<std::jthread> others;
  try {
    for (unsigned t = 1; t < threads && t < tasks; ++t) {
      others.emplace_back(take_all, make_worker());
    }
  } catch (const std::system_error&) {
    // No more threads to be had: those that are there do the work.
  }
  take_all(make_worker());
}

}  // namespace softcheck::kernels::call
