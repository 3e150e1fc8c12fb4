#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "judge/sandbox/containment.hpp"
#include "judge/sandbox/isolated_kernel.hpp"
#include "judge/sandbox/kernel_messages.hpp"
#include "judge/sandbox/process_keeper.hpp"

namespace softcheck::proptests {

struct ChildReply {
  CallEnd end = CallEnd::done;
  int returned = 0;
  bool environment_changed = false;
  std::string death;
  std::string printed;  // the last output of this call, if the kernel did not return properly
};

/// Forks the kernel's process and its keeper, loads the library there, and sends requests over a socket. Every wait has
/// a limit. All processes that the child starts end with it.
class KernelChild {
 public:
  /// throws   KernelLoadError; Interrupted when limits.interrupted returns true
  KernelChild(const KernelSource& source, const KernelLimits& limits);
  ~KernelChild();
  KernelChild(const KernelChild&) = delete;
  KernelChild& operator=(const KernelChild&) = delete;

  /// throws   Interrupted if limits.interrupted returns true; the child is then gone
  ChildReply call(ChildRequest request);
  /// Ends the kernel's process; another one replaces it, as after a crash.
  void end_process();
  /// After a crash, a library that can be forked gets a new process. After a time-out, or without forks, there is none.
  bool is_gone() const { return pid_ < 0; }
  std::size_t printed_bytes() const;
  /// The last lines of the output (printed_lines.hpp).
  std::string printed_tail() const;
  const Containment& containment() const { return containment_; }
  /// Did the library change the floating-point environment of the process that loaded it?
  bool loading_changed_environment() const { return loading_changed_environment_; }

 private:
  enum class Received { message, death, timeout, forged };

  Received receive(double seconds, ServerMessage& message);
  ChildReply ask(ChildRequest request);
  bool send_request(const ChildRequest& request) const;
  void wait_for_library(const KernelSource& source);
  ChildReply died(Received received, const ServerMessage& message);
  /// The keeper's report of how the processes ended; "" if none arrives in time.
  std::string await_end(double seconds);
  /// Ends the kernel's process and all processes that it started. Returns how it ended, or "".
  std::string stop();

  KernelLimits limits_;
  bool is_callable_;
  pid_t pid_ = -1;  // the keeper's
  Descriptor data_, control_, printed_;
  Containment containment_;
  bool loading_changed_environment_ = false;
  std::uint64_t calls_ = 0;
};

/// The child's side: gives up its rights, loads the kernel, and answers each ChildRequest; reports each step by a
/// ServerMessage. If the library can be forked, the child loads it once and replaces a process that dies by another
/// fork. An exception that leaves the kernel ends the process.
///
/// socket        the child's end of the channel       printed   file that the kernel prints to
/// containment   the namespaces that the process already has
[[noreturn]] void serve_kernel(int socket, int printed, const KernelSource& source, const KernelLimits& limits,
                               Containment containment) noexcept;

/// The thread's state that a function must leave unchanged: rounding modes, exception masks, flush-to-zero and
/// denormals-are-zero, the x87 unit's precision and register use, and the direction flag of string instructions. The
/// sticky exception flags are not part of it.
struct EnvironmentBits {
  std::uint64_t control = 0;  // of the vector unit
  std::uint32_t x87 = 0;      // the control word, and the registers in use
  bool backwards = false;     // the direction flag: string instructions run from the end
  friend bool operator==(const EnvironmentBits&, const EnvironmentBits&) = default;
};

/// Reads the calling thread's state. Clears the direction flag, because compiled code relies on that.
EnvironmentBits environment_bits();

}  // namespace softcheck::proptests
