#pragma once

#include <csignal>

namespace softcheck::cli {

/// While an object exists, Ctrl-C or SIGTERM asks the work to end with the results so far; a second one ends the
/// program.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  /// Has a signal asked the work to end?
  static bool requested();

 private:
  struct sigaction before_interrupt_ {};
  struct sigaction before_terminate_ {};
};

/// While an object exists, a mapped file whose bytes are gone (another program shortened it, or its disk fails) ends
/// the program with one line and the exit code of malformed input, not with SIGBUS.
class ShrunkFileGuard {
 public:
  ShrunkFileGuard();
  ~ShrunkFileGuard();
  ShrunkFileGuard(const ShrunkFileGuard&) = delete;
  ShrunkFileGuard& operator=(const ShrunkFileGuard&) = delete;

 private:
  struct sigaction before_ {};
};

}  // namespace softcheck::cli
