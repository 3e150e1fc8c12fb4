#include "cli/shrunk_file.hpp"

#include <unistd.h>

#include <string_view>

#include "cli/exit_code.hpp"

namespace softcheck::cli {
namespace {

// In a signal's handler only write and _exit are safe: there is no way back to the line that looked.
void on_missing_bytes(int) {
  constexpr std::string_view line =
      "softcheck: check: a file of tensors became shorter while it was read, or its disk fails\n";
  // Nobody is left to be told that the line is lost.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  _exit(malformed);
}

}  // namespace

ShrunkFileGuard::ShrunkFileGuard() {
  struct sigaction action {};
  action.sa_handler = on_missing_bytes;
  sigaction(SIGBUS, &action, &before_);
}

ShrunkFileGuard::~ShrunkFileGuard() { sigaction(SIGBUS, &before_, nullptr); }

}  // namespace softcheck::cli
