#include "judge/sandbox/kernel_child.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cfenv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <thread>

#include "judge/sandbox/printed_lines.hpp"
#include "judge/sandbox/process_keeper.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace softcheck::proptests {
namespace {

using Clock = std::chrono::steady_clock;

// Time limits: for the keeper to end its processes, and for a process to end after its channel closed.
constexpr double seconds_to_end = 5;
constexpr double seconds_to_follow = 0.5;
// For a fork and the library's fork handlers.
constexpr double seconds_to_fork = 10;

std::string no_answer_within(double seconds) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "no answer within %g s", seconds);
  return text.data();
}

Clock::time_point after(double seconds) {
  constexpr double a_year = 3.2e7;  // longer times overflow the clock's type
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, a_year)));
}

int milliseconds_until(Clock::time_point deadline, int most) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left + 1, 0, most));
}

struct Channel {
  Descriptor here, there;
};

Channel open_channel() {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
    throw std::system_error(errno, std::generic_category(), "KernelChild: socketpair");
  }
  return {Descriptor(sockets[0]), Descriptor(sockets[1])};
}

std::string told(int status) {
  if (WIFSIGNALED(status)) {
    return "signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
  }
  return "exit(" + std::to_string(WEXITSTATUS(status)) + ")";
}

}  // namespace

KernelChild::KernelChild(const KernelSource& source, const KernelLimits& limits)
    : limits_(limits), is_callable_(source.callable != nullptr) {
  Channel data = open_channel(), control = open_channel();
  printed_ = Descriptor(memfd_create("kernel-output", MFD_CLOEXEC));
  if (printed_.number() < 0) throw std::system_error(errno, std::generic_category(), "KernelChild: memfd_create");
  std::fflush(nullptr);  // otherwise an exit() in the child prints the judge's buffered output a second time
  pid_ = fork();
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "KernelChild: fork");
  if (pid_ == 0) {
    keep_process(control.there.number(), limits.isolation, [&](const Containment& containment) {
      serve_kernel(data.there.number(), printed_.number(), source, limits, containment);
    });
  }
  data_ = std::move(data.here);
  control_ = std::move(control.here);
  data.there.reset();
  try {
    wait_for_library(source);
  } catch (...) {
    stop();
    throw;
  }
}

KernelChild::~KernelChild() { stop(); }

std::string KernelChild::await_end(double seconds) {
  const Clock::time_point deadline = after(seconds);
  pollfd wait{control_.number(), POLLIN, 0};
  int ready = 0;
  do ready = poll(&wait, 1, milliseconds_until(deadline, 60'000));
  while ((ready < 0 && errno == EINTR) || (ready == 0 && Clock::now() < deadline));
  EndMessage end;
  if (ready <= 0 || recv(control_.number(), &end, sizeof end, MSG_DONTWAIT) != sizeof end || !end.known) return "";
  return told(end.status);
}

std::string KernelChild::stop() {
  if (pid_ < 0) return "";
  shutdown(control_.number(), SHUT_WR);
  const std::string end = await_end(seconds_to_end);
  // The keeper runs none of the kernel's code and ends by itself, unless a process that it waits for cannot be killed.
  const Clock::time_point deadline = after(seconds_to_end);
  while (waitpid(pid_, nullptr, WNOHANG) == 0) {
    if (Clock::now() > deadline) kill(pid_, SIGKILL);
    if (Clock::now() > deadline + std::chrono::seconds(1)) break;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  pid_ = -1;
  return end;
}

KernelChild::Received KernelChild::receive(double seconds, ServerMessage& message) {
  const Clock::time_point deadline = after(seconds);
  for (;;) {
    if (limits_.interrupted && limits_.interrupted()) {
      stop();
      throw Interrupted();
    }
    pollfd wait[] = {{data_.number(), POLLIN, 0}, {control_.number(), POLLIN, 0}};
    const int ready = poll(wait, 2, milliseconds_until(deadline, limits_.interrupted ? 50 : 60'000));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0 && Clock::now() < deadline) continue;
    if (ready == 0) return Received::timeout;
    // Messages sent before the death still count.
    if (wait[0].revents == 0) return Received::death;
    const ssize_t got = recv(data_.number(), &message, sizeof message, MSG_DONTWAIT | MSG_TRUNC);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    return got == sizeof message ? Received::message : got > 0 ? Received::forged : Received::death;
  }
}

namespace {

// "; it printed: no licence"; empty if it printed nothing.
std::string last_words(const std::string& printed) {
  const std::vector<std::string> lines = last_lines(printed);
  return lines.empty() ? "" : "; it printed: " + lines.back();
}

}  // namespace

void KernelChild::wait_for_library(const KernelSource& source) {
  using Kind = ServerMessage::Kind;
  using Reason = KernelLoadError::Reason;
  ServerMessage message;
  Received received = receive(seconds_to_fork, message);
  if (received == Received::message && message.kind == Kind::contained) {
    containment_ = message.containment;
    received = receive(limits_.seconds_to_load, message);
  }
  if (received == Received::message && message.kind == Kind::loaded) {
    loading_changed_environment_ = message.environment_changed;
    return;
  }
  if (received == Received::timeout) {
    throw KernelLoadError(Reason::died_while_loading, "kernel: " + source.library + " did not finish loading within " +
                                                          std::to_string(limits_.seconds_to_load) + " s" +
                                                          last_words(printed_tail()));
  }
  if (received == Received::message && message.kind == Kind::no_such_symbol) {
    throw KernelLoadError(Reason::no_such_symbol,
                          "kernel: " + source.library + " has no symbol '" + source.symbol + "' (need extern \"C\")");
  }
  message.text.back() = '\0';
  if (received == Received::message && message.kind == Kind::no_device) {
    throw KernelLoadError(Reason::no_device, "kernel: a CUDA device is needed: " + std::string(message.text.data()));
  }
  if (received == Received::message && message.kind == Kind::not_a_library) {
    throw KernelLoadError(Reason::not_a_library, "kernel: not a loadable library: " + std::string(message.text.data()));
  }
  const std::string death = received == Received::death ? await_end(seconds_to_follow) : "a message of its own";
  throw KernelLoadError(Reason::died_while_loading,
                        "kernel: " + source.library + " died while loading: " + death + last_words(printed_tail()));
}

bool KernelChild::send_request(const ChildRequest& request) const {
  ssize_t sent = -1;
  do sent = send(data_.number(), &request, sizeof request, MSG_NOSIGNAL | MSG_DONTWAIT);
  while (sent < 0 && errno == EINTR);
  return sent == sizeof request;
}

ChildReply KernelChild::call(ChildRequest request) {
  const std::size_t before = printed_bytes();  // by earlier calls: all forks print to one file
  ChildReply reply = ask(std::move(request));
  const bool returned = reply.end == CallEnd::done || reply.end == CallEnd::refused || reply.end == CallEnd::not_made;
  if (!returned) reply.printed = last_bytes(printed_.number(), before);
  return reply;
}

void KernelChild::end_process() {
  ServerMessage message;
  const Received received = send_request({.number = resume}) ? receive(seconds_to_fork, message) : Received::death;
  died(received, message);
}

ChildReply KernelChild::ask(ChildRequest request) {
  // odd multiples of 2^64 times the golden section: all different, none small
  request.number = ++calls_ * 0x9e3779b97f4a7c15u;
  ServerMessage message;
  Received received = Received::death;
  if (send_request(request)) received = receive(limits_.seconds_per_call, message);
  if (received == Received::message && message.kind == ServerMessage::Kind::died) return died(received, message);
  const bool no_memory = received == Received::message && message.kind == ServerMessage::Kind::no_memory;
  if (received == Received::message &&
      ((message.kind != ServerMessage::Kind::answered && !no_memory) || message.number != request.number)) {
    received = Received::forged;
  }
  if (received != Received::message) return died(received, message);
  ChildReply reply;
  if (no_memory) {
    reply.end = CallEnd::not_made;
    return reply;
  }
  reply.end = message.returned == 0 ? CallEnd::done : CallEnd::refused;
  if (is_callable_ && message.returned == returned_malformed) {
    reply.end = CallEnd::malformed;
    reply.death = "returning something else than was asked for";
  }
  reply.returned = message.returned;
  reply.environment_changed = message.environment_changed;
  return reply;
}

ChildReply KernelChild::died(Received received, const ServerMessage& message) {
  ChildReply reply;
  reply.end = received == Received::timeout ? CallEnd::timed_out : CallEnd::crashed;
  switch (received) {
    case Received::message: {
      reply.death = told(message.status);
      ServerMessage ready;
      const bool goes_on = send_request({.number = resume}) && receive(seconds_to_fork, ready) == Received::message &&
                           ready.kind == ServerMessage::Kind::ready;
      if (!goes_on) stop();
      return reply;
    }
    case Received::death: {
      reply.death = await_end(seconds_to_follow);
      if (reply.death.empty()) reply.death = "closing the judge's channel";
      break;
    }
    case Received::timeout:
      reply.death = no_answer_within(limits_.seconds_per_call);
      break;
    case Received::forged:
      reply.death = "a message of its own to the judge";
      break;
  }
  stop();
  return reply;
}

std::string KernelChild::printed_tail() const { return last_bytes(printed_.number()); }

std::size_t KernelChild::printed_bytes() const {
  const off_t bytes = lseek(printed_.number(), 0, SEEK_END);
  return bytes < 0 ? 0 : static_cast<std::size_t>(bytes);
}

EnvironmentBits environment_bits() {
  EnvironmentBits bits;
#if defined(__x86_64__)
  unsigned long flags = 0;
  // Skip the red zone: pushfq would overwrite values that the compiler keeps there.
  __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\tpop %0\n\tlea 128(%%rsp), %%rsp\n\tcld" : "=r"(flags)::"cc");
  bits.backwards = (flags & 0x400) != 0;
  struct alignas(16) Saved {
    std::uint16_t control, status;
    std::uint8_t in_use, rest[507];
  } saved;
  __asm__ volatile("fxsave64 %0" : "=m"(saved));
  bits.x87 = static_cast<std::uint32_t>(saved.control) << 8 | saved.in_use;
  bits.control = _mm_getcsr() & ~0x3fu;
#elif defined(__aarch64__)
  __asm__ volatile("mrs %0, fpcr" : "=r"(bits.control));
#else
  bits.control = static_cast<std::uint64_t>(std::fegetround());
#endif
  return bits;
}

}  // namespace softcheck::proptests
