#pragma once

#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <new>

#include "judge/sandbox/isolated_kernel.hpp"
#include "proptests/tests/judge/kernel_call.hpp"
#include "proptests/tests/judge/kernel_samples.hpp"

// Kernels of the test program itself, called without a judgement.
namespace softcheck::proptests {

inline const std::string intruders = library_path("softcheck_intruders");

/// Values in memory that this program shares with every process that comes of it.
template <class Value, std::size_t count>
class SharedValues {
 public:
  SharedValues()
      : memory_(mmap(nullptr, count * sizeof(Value), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~SharedValues() { munmap(memory_, count * sizeof(Value)); }
  SharedValues(const SharedValues&) = delete;
  SharedValues& operator=(const SharedValues&) = delete;
  Value& operator[](std::size_t i) const { return static_cast<Value*>(memory_)[i]; }

 private:
  void* memory_;
};
using Shared = SharedValues<std::atomic<int>, 1024>;

/// Two equal logits, where a test asks for nothing else.
inline KernelCall two_logits() {
  KernelCall call;
  call.columns = 2;
  call.logits = {1, 1};
  return call;
}
inline TensorCall one_row() { return lowered(two_logits()); }

inline KernelSource source_of(std::function<int(const softcheck_call*)> kernel) {
  return {"this program", "kernel", std::move(kernel)};
}

inline KernelLimits limits_of(Isolation isolation = Isolation::full) {
  KernelLimits limits;
  limits.isolation = isolation;
  return limits;
}
/// For what is to time out.
inline KernelLimits short_limits(Isolation isolation = Isolation::full) {
  KernelLimits limits = limits_of(isolation);
  limits.seconds_per_call = 0.5;
  return limits;
}

/// The answer of a kernel of this program to one call, its only one.
inline TensorReply own_reply(std::function<int(const softcheck_call*)> kernel, const TensorCall& call = one_row(),
                             const KernelLimits& limits = limits_of()) {
  return IsolatedKernel(source_of(std::move(kernel)), limits).call(call);
}

inline double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace softcheck::proptests
