#include "cli/streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace softcheck::cli {

void prepare_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // open returns the lowest free descriptor, which is this one. Standard output and error are open for reading, so
    // each write fails.
    if (open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) != descriptor) return;
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void say_text(std::string_view text) {
  if (std::ferror(stdout) != 0) return;
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return;
  complain("softcheck: standard output is lost: {}\n", std::strerror(errno));
}

void complain_text(std::string_view text) {
  const std::size_t written = std::fwrite(text.data(), 1, text.size(), stderr);
  if (written != text.size()) std::clearerr(stderr);  // there is no other place to report it
}

bool has_lost_output() { return std::ferror(stdout) != 0; }

void forgive_lost_output() { std::clearerr(stdout); }

}  // namespace softcheck::cli
