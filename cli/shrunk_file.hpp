#pragma once

#include <csignal>

namespace softcheck::cli {

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
