#pragma once

#include <functional>

namespace softcheck::numerics {

/// Thrown where the user or a budget ends the work. It says nothing about what is being judged, and it is no
/// std::exception, so that no handler takes it for a failure.
struct Interrupted {};

/// While this is alive, the thread's work with enclosures throws Interrupted soon after stop_requested() returns true:
/// each enclosure that is made counts as a step. A loop over doubles calls throw_if_interrupted().
///
/// stop_requested   asked every 10 ms; outlives the scope; empty: the scope asks nothing, and the outer scope is not
/// asked either
class [[nodiscard]] InterruptionScope {
 public:
  explicit InterruptionScope(const std::function<bool()>& stop_requested);
  ~InterruptionScope();
  InterruptionScope(const InterruptionScope&) = delete;
  InterruptionScope& operator=(const InterruptionScope&) = delete;

 private:
  const std::function<bool()>* outer_;
};

/// A step of work within an InterruptionScope; outside of one it does nothing.
/// throws   Interrupted
void throw_if_interrupted();

}  // namespace softcheck::numerics
