#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace softcheck::kernels::emulator {

/// A stack on which jobs run, one after another. resume() runs the job up to its next pause().
class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Sets the job that the next resume() begins. The caller has seen done(), keeps job alive, and passes a job that
  /// throws nothing.
  void start(const std::function<void()>& job);
  /// Runs the job until it pauses or is done.
  void resume();
  /// Returns to the caller of resume(). Only the job calls it.
  void pause();
  bool done() const { return job_ == nullptr; }

 private:
  void work(boost::context::fiber&& caller);
  void enter();
  void leave();

  boost::context::fiber context_;
  boost::context::fiber caller_;
  const std::function<void()>* job_ = nullptr;
  bool stopping_ = false;
  // Both stacks, for AddressSanitizer; unused without it.
  [[maybe_unused]] void* fiber_fake_stack_ = nullptr;
  [[maybe_unused]] void* caller_fake_stack_ = nullptr;
  const void* stack_bottom_ = nullptr;
  std::size_t stack_size_ = 0;
  [[maybe_unused]] const void* caller_bottom_ = nullptr;
  [[maybe_unused]] std::size_t caller_size_ = 0;
};

/// At least count fibers. This thread of the operating system keeps them from launch to launch.
std::vector<std::unique_ptr<Fiber>>& fibers(std::size_t count);

}  // namespace softcheck::kernels::emulator
