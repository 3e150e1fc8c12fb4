#include "kernels/emulator/fiber.hpp"

#include <boost/context/protected_fixedsize_stack.hpp>
#include <cassert>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define SOFTCHECK_FIBERS_TELL_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SOFTCHECK_FIBERS_TELL_ASAN
#endif
#endif
#ifdef SOFTCHECK_FIBERS_TELL_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace softcheck::kernels::emulator {
namespace {

// Address space; only touched pages take memory. Sanitizers' frames are several times as large as others.
constexpr std::size_t stack_bytes = std::size_t{256} << 10;

}  // namespace

#ifdef SOFTCHECK_FIBERS_TELL_ASAN
void Fiber::enter() { __sanitizer_finish_switch_fiber(fiber_fake_stack_, &caller_bottom_, &caller_size_); }
void Fiber::leave() { __sanitizer_start_switch_fiber(&fiber_fake_stack_, caller_bottom_, caller_size_); }
#else
void Fiber::enter() {}
void Fiber::leave() {}
#endif

Fiber::Fiber() {
  boost::context::protected_fixedsize_stack allocator(stack_bytes);
  boost::context::stack_context stack = allocator.allocate();
  stack_size_ = stack.size;
  stack_bottom_ = static_cast<const char*>(stack.sp) - stack.size;
  const boost::context::preallocated place(stack.sp, stack.size, stack);
  context_ = boost::context::fiber(std::allocator_arg, place, allocator, [this](boost::context::fiber&& caller) {
    work(std::move(caller));
    return std::move(caller_);
  });
}

void Fiber::work(boost::context::fiber&& caller) {
  caller_ = std::move(caller);
  enter();
  while (!stopping_) {
    if (job_ != nullptr) (*job_)();
    job_ = nullptr;
    if (!stopping_) pause();
  }
  leave();
}

Fiber::~Fiber() {
  assert(done());
  stopping_ = true;
  resume();
}

void Fiber::start(const std::function<void()>& job) {
  assert(done());
  job_ = &job;
}

void Fiber::resume() {
#ifdef SOFTCHECK_FIBERS_TELL_ASAN
  __sanitizer_start_switch_fiber(&caller_fake_stack_, stack_bottom_, stack_size_);
#endif
  context_ = std::move(context_).resume();
#ifdef SOFTCHECK_FIBERS_TELL_ASAN
  __sanitizer_finish_switch_fiber(caller_fake_stack_, nullptr, nullptr);
#endif
}

void Fiber::pause() {
  leave();
  caller_ = std::move(caller_).resume();
  enter();
}

std::vector<std::unique_ptr<Fiber>>& fibers(std::size_t count) {
  thread_local std::vector<std::unique_ptr<Fiber>> pool;
  while (pool.size() < count) pool.push_back(std::make_unique<Fiber>());
  return pool;
}

}  // namespace softcheck::kernels::emulator
