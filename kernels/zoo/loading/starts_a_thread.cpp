// A library that starts a worker thread while it loads, like a thread pool. A process that is forked later has no
// worker, and its first call would wait for ever. The kernel itself is right.
#include <condition_variable>
#include <mutex>
#include <thread>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {

class Worker {
 public:
  Worker() {
    std::thread([this] { work(); }).detach();
  }

  int compute(const softcheck_call* call) {
    std::unique_lock lock(mutex_);
    call_ = call;
    changed_.notify_all();
    changed_.wait(lock, [this] { return call_ == nullptr; });
    return status_;
  }

 private:
  [[noreturn]] void work() {
    for (std::unique_lock lock(mutex_);;) {
      changed_.wait(lock, [this] { return call_ != nullptr; });
      status_ = each_row(call_, [](auto& row) { softmax(row); });
      call_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const softcheck_call* call_ = nullptr;
  int status_ = 0;
};

// Never destroyed: its thread outlives main().
Worker& worker = *new Worker;

}  // namespace

// @judged softmax f32: plain; pass
SOFTCHECK_MUTANT correct_by_a_thread_from_loading(const softcheck_call* call) { return worker.compute(call); }
