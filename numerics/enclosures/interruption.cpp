#include "numerics/enclosures/interruption.hpp"

#include <chrono>

namespace softcheck::numerics {
namespace {

using Clock = std::chrono::steady_clock;

// A step takes from some nanoseconds to 20 microseconds (an exponential at 512 bits); reading the clock takes 30
// nanoseconds, and a callback to Python some microseconds.
constexpr unsigned steps_between_looks = 64;
constexpr std::chrono::milliseconds between_questions(10);

thread_local const std::function<bool()>* thread_question = nullptr;
thread_local unsigned steps_left = steps_between_looks;
thread_local Clock::time_point next_question;

}  // namespace

InterruptionScope::InterruptionScope(const std::function<bool()>& stop_requested) : outer_(thread_question) {
  thread_question = stop_requested ? &stop_requested : nullptr;
}

InterruptionScope::~InterruptionScope() { thread_question = outer_; }

void throw_if_interrupted() {
  if (thread_question == nullptr || --steps_left != 0) return;
  steps_left = steps_between_looks;
  const Clock::time_point now = Clock::now();
  if (now < next_question) return;
  next_question = now + between_questions;
  if ((*thread_question)()) throw Interrupted();
}

}  // namespace softcheck::numerics
