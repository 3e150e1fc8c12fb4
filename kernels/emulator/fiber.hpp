#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace softcheck::kernels::emulator {

/// A stack on which one job after another runs, each as far as its next pause.
class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// The job begins at the next resume(). Only where the last one is done. It throws nothing.
  void start(const std::function<void()>& job);
  /// Runs the job until it pauses or is done.
  void resume();
  /// Back to the caller of resume(). Only inside the job.
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
  // What AddressSanitizer wants to be told of both stacks; unused without it.
  [[maybe_unused]] void* fiber_fake_stack_ = nullptr;
  [[maybe_unused]] void* caller_fake_stack_ = nullptr;
  const void* stack_bottom_ = nullptr;
  std::size_t stack_size_ = 0;
  [[maybe_unused]] const void* caller_bottom_ = nullptr;
  [[maybe_unused]] std::size_t caller_size_ = 0;
};

/// At least count fibers, kept from launch to launch by this thread of the operating system.
std::vector<std::unique_ptr<Fiber>>& fibers(std::size_t count);

}  // namespace softcheck::kernels::emulator
