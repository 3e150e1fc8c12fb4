#pragma once

#include <functional>

namespace softcheck::numerics {

/// Thrown if the user or a budget ends the work. It says nothing about the judged kernel, and is no std::exception, so
/// that no handler mistakes it for a failure.
struct Interrupted {};

/// While it lives, enclosure operations of the thread throw Interrupted soon after stop_requested() returns true; each
/// new enclosure counts as a step. Loops over doubles must call throw_if_interrupted().
///
/// stop_requested   called every 10 ms; must outlive the scope. Empty: no callback is called, not even the outer
///                  scope's
class [[nodiscard]] InterruptionScope {
 public:
  explicit InterruptionScope(const std::function<bool()>& stop_requested);
  ~InterruptionScope();
  InterruptionScope(const InterruptionScope&) = delete;
  InterruptionScope& operator=(const InterruptionScope&) = delete;

 private:
  const std::function<bool()>* outer_;
};

/// A step of work; does nothing outside an InterruptionScope.
/// throws   Interrupted
void throw_if_interrupted();

}  // namespace softcheck::numerics
