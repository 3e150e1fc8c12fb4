#pragma once

#include <functional>

namespace softcheck::numerics {

/// Thrown where the user or a budget ends the work. It says nothing about what is being judged, and it is no
/// std::exception, so that no handler takes it for a failure.
struct Interrupted {};

/// While this is alive, the thread's work with enclosures throws Interrupted soon after asked_to_end() returns true:
/// each enclosure that is made counts as a step. A loop over doubles calls end_if_asked().
///
/// asked_to_end   asked every 10 ms; outlives the scope; empty: the scope asks nothing, and the outer scope is not
/// asked either
class [[nodiscard]] InterruptionScope {
 public:
  explicit InterruptionScope(const std::function<bool()>& asked_to_end);
  ~InterruptionScope();
  InterruptionScope(const InterruptionScope&) = delete;
  InterruptionScope& operator=(const InterruptionScope&) = delete;

 private:
  const std::function<bool()>* outer_;
};

/// A step of work within an InterruptionScope; outside of one it does nothing.
/// throws   Interrupted
void end_if_asked();

}  // namespace softcheck::numerics
