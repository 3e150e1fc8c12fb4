#pragma once

#include <csignal>

namespace softcheck::cli {

/// While one is there, Ctrl-C and SIGTERM ask the work to end with what it knows; a second one ends the program.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  /// Has the user asked for the end?
  static bool requested();

 private:
  struct sigaction before_interrupt_ {};
  struct sigaction before_terminate_ {};
};

/// While one is there, a mapped file whose bytes are gone (another program made it shorter, or its disk fails) ends the
/// program with one line and the exit code of malformed input instead of SIGBUS.
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
