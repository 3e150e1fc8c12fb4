#include "proptests/judge/kernel_child.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <thread>

#include "proptests/judge/kernel_server.hpp"

namespace softcheck::proptests {

KernelChild::KernelChild(const KernelSource& source, const KernelLimits& limits)
    : seconds_per_call_(limits.seconds_per_call) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
    throw std::system_error(errno, std::generic_category(), "KernelChild: socketpair");
  }
  printed_ = memfd_create("kernel-output", MFD_CLOEXEC);
  if (printed_ < 0) {
    const int error = errno;
    close(sockets[0]);
    close(sockets[1]);
    throw std::system_error(error, std::generic_category(), "KernelChild: memfd_create");
  }
  std::fflush(nullptr);  // else an exit() in the child prints the judge's pending output a second time
  const pid_t judge = getpid();
  pid_ = fork();
  if (pid_ < 0) {
    const int error = errno;
    close(sockets[0]);
    close(sockets[1]);
    close(printed_);
    throw std::system_error(error, std::generic_category(), "KernelChild: fork");
  }
  if (pid_ == 0) {
    setpgid(0, 0);  // what the kernel starts dies with it
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != judge) _exit(0);
    serve_kernel(sockets[1], printed_, source, limits);
  }
  setpgid(pid_, pid_);  // here too: whichever of the two comes first
  close(sockets[1]);
  socket_ = sockets[0];
  wait_for_library(source);
}

KernelChild::~KernelChild() {
  if (pid_ > 0) {
    stop();
    reap();
  }
  close(socket_);
  close(printed_);
}

void KernelChild::stop() const { kill(-pid_, SIGKILL); }

namespace {

enum class Received { message, death, timeout, forged };

template <class Message>
Received receive(int socket, double seconds, Message& message) {
  using Clock = std::chrono::steady_clock;
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd wait{socket, POLLIN, 0};
    const int ready = poll(&wait, 1, static_cast<int>(std::max<long long>(0, left)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return Received::timeout;
    const ssize_t got = recv(socket, &message, sizeof message, MSG_DONTWAIT | MSG_TRUNC);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    return got == sizeof message ? Received::message : got > 0 ? Received::forged : Received::death;
  }
}

}  // namespace

void KernelChild::wait_for_library(const KernelSource& source) {
  LoadMessage loaded;
  // Ten calls' time: a library may read a large table or start a run-time system as it loads.
  const Received received = receive(socket_, 10 * seconds_per_call_, loaded);
  if (received == Received::message && loaded.loaded == Loaded::ok) return;
  if (received == Received::timeout || received == Received::forged) stop();
  const std::string death = reap();
  using Reason = KernelLoadError::Reason;
  close(socket_);
  close(printed_);
  if (received == Received::timeout) {
    throw KernelLoadError(Reason::died_while_loading, "kernel: " + source.library + " did not finish loading");
  }
  if (received != Received::message) {
    throw KernelLoadError(Reason::died_while_loading, "kernel: " + source.library + " died while loading: " + death);
  }
  const std::string text(loaded.text.data());
  if (loaded.loaded == Loaded::no_such_symbol) {
    throw KernelLoadError(Reason::no_such_symbol,
                          "kernel: " + source.library + " has no symbol '" + source.symbol + "' (need extern \"C\")");
  }
  throw KernelLoadError(Reason::not_a_library, "kernel: not a loadable library: " + text);
}

std::string KernelChild::reap() {
  // A child whose channel has ended is about to end. One that closed it and lives on is stopped.
  bool stopped = false;
  for (int waited = 0;; ++waited) {
    siginfo_t ended{};
    const int failed = waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOWAIT | (stopped ? 0 : WNOHANG));
    if (failed != 0 && errno == EINTR) continue;
    if (failed != 0 || ended.si_pid == pid_) break;
    if (waited == 100) {
      stop();
      stopped = true;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  stop();  // what the kernel has started, while its group's number cannot be another's
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (stopped) return "closing the judge's channel";
  if (WIFSIGNALED(status)) {
    return "signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
  }
  return "exit(" + std::to_string(WEXITSTATUS(status)) + ")";
}

ChildReply KernelChild::call(ChildRequest request) {
  request.number = ++calls_ * 0x9e3779b97f4a7c15u;  // odd multiples of 2^64's golden section: all different, none small
  ChildReply reply;
  CallMessage message;
  Received received = Received::death;
  ssize_t sent = -1;
  do sent = send(socket_, &request, sizeof request, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  if (sent == sizeof request) received = receive(socket_, seconds_per_call_, message);
  if (received == Received::message && message.number != request.number) received = Received::forged;
  if (received == Received::message) {
    reply.end = message.returned == 0 ? CallEnd::done : CallEnd::refused;
    reply.returned = message.returned;
    reply.environment_changed = message.environment_changed != 0;
    return reply;
  }
  if (received == Received::timeout || received == Received::forged) stop();
  reply.end = received == Received::timeout ? CallEnd::timed_out : CallEnd::crashed;
  reply.death = reap();
  if (received == Received::forged) reply.death = "a message of its own to the judge";
  if (received == Received::timeout) reply.death = "no answer within " + std::to_string(seconds_per_call_) + " s";
  return reply;
}

std::size_t KernelChild::printed_bytes() const {
  const off_t bytes = lseek(printed_, 0, SEEK_END);
  return bytes < 0 ? 0 : static_cast<std::size_t>(bytes);
}

}  // namespace softcheck::proptests
