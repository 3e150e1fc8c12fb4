#pragma once

#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "judge/sandbox/isolated_kernel.hpp"
#include "proptests/tests/judge/kernel_call.hpp"

// Kernels of the test program itself.
namespace softcheck::proptests {

inline const std::string intruders = std::string(SOFTCHECK_KERNEL_DIR) + "/libsoftcheck_intruders.so";

// Counters in memory that this program shares with every process that comes of it.
class Shared {
 public:
  Shared()
      : counters_(static_cast<std::atomic<int>*>(
            mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~Shared() { munmap(counters_, 4096); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  std::atomic<int>& operator[](std::size_t i) const { return counters_[i]; }

 private:
  std::atomic<int>* counters_;
};

inline TensorCall one_row() {
  KernelCall call;
  call.columns = 2;
  call.logits = {1, 1};
  return lowered(call);
}

inline KernelSource source_of(std::function<int(const softcheck_call*)> kernel) {
  return {"this program", "kernel", std::move(kernel)};
}

inline KernelLimits limits_of(Isolation isolation = Isolation::full) {
  KernelLimits limits;
  limits.isolation = isolation;
  return limits;
}

inline double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace softcheck::proptests
