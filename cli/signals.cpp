#include "cli/signals.hpp"

#include <unistd.h>

#include <string_view>

#include "cli/exit_code.hpp"

namespace softcheck::cli {
namespace {

// A signal handler can only use objects that live as long as the program.
volatile std::sig_atomic_t& flag() {
  static volatile std::sig_atomic_t requested = 0;
  return requested;
}

void on_signal(int) { flag() = 1; }

// In this handler only write and _exit are safe: it cannot return to the access that failed.
void on_missing_bytes(int) {
  constexpr std::string_view line =
      "softcheck: check: a file of tensors became shorter while it was read, or its disk fails\n";
  // If the line cannot be written, there is no other place for it.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  _exit(malformed);
}

}  // namespace

Interruption::Interruption() {
  flag() = 0;  // constructs the flag before any signal
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, &before_interrupt_);
  sigaction(SIGTERM, &action, &before_terminate_);
  // A shell that starts a program in the background makes it ignore SIGINT; keep that.
  if (before_interrupt_.sa_handler == SIG_IGN) sigaction(SIGINT, &before_interrupt_, nullptr);
}

Interruption::~Interruption() {
  sigaction(SIGINT, &before_interrupt_, nullptr);
  sigaction(SIGTERM, &before_terminate_, nullptr);
}

bool Interruption::requested() { return flag() != 0; }

ShrunkFileGuard::ShrunkFileGuard() {
  struct sigaction action {};
  action.sa_handler = on_missing_bytes;
  sigaction(SIGBUS, &action, &before_);
}

ShrunkFileGuard::~ShrunkFileGuard() { sigaction(SIGBUS, &before_, nullptr); }

}  // namespace softcheck::cli
