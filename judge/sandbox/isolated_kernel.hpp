#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "judge/call/tensor_call.hpp"
#include "judge/sandbox/containment.hpp"
#include "kernels/abi/softcheck_kernel.h"
#include "proptests/engine/interrupted.hpp"

namespace softcheck::proptests {

/// How a forwarded call ended (KernelSource::forwarded).
struct ForwardedEnd {
  CallEnd end = CallEnd::done;
  int returned = 0;     // nonzero return value of a refused call
  std::string death;    // of a call without an answer, for the report: "signal 11"
  std::string printed;  // the last lines that the kernel then printed
};

/// A callable returns this for CallEnd::malformed, after it has printed the error.
inline constexpr int returned_malformed = -1'000'003;

/// A kernel in a shared library, or a function of this program.
struct KernelSource {
  std::string library;
  std::string symbol;
  /// If set, the child process, a fork of this program, calls this function; library and symbol then only name it. It
  /// returns what a kernel returns, or returned_malformed.
  std::function<int(const softcheck_call*)> callable = {};
  /// If set instead, the judge calls this in its own process and thread, without isolation or time limit; the function
  /// itself may call another process, keep a limit, and return how the call ended there.
  std::function<ForwardedEnd(const softcheck_call*)> forwarded = {};
  /// For forwarded calls: the isolation of the kernel from the judge, for a report.
  std::string forwarded_isolation =
      "none: called in the judge's own process: a crash, a hang or a stray write of the function ends or harms this "
      "program itself";
  /// The code that judges a kernel of a program again; empty: a call of softcheck::conforms. "{contract}" in it becomes
  /// ", contract='WORDS'", "{domain}" ", domain='WORDS'", and "{replay}" ", replay='PROPERTY CASE'", or nothing.
  std::string again = {};
  /// For a library's kernel. With cuda the call passes device copies of the tensors.
  Device device = Device::cpu;
};

/// Splits "LIB:SYMBOL" at its last colon; throws std::invalid_argument when either part is missing.
KernelSource parse_kernel_source(std::string_view text);

/// The reason why a kernel cannot be called at all.
class KernelLoadError : public std::runtime_error {
 public:
  enum class Reason { no_such_file, not_a_library, no_such_symbol, no_device, died_while_loading };
  KernelLoadError(Reason reason, const std::string& text) : std::runtime_error(text), reason(reason) {}
  Reason reason;
};

/// Exit code of a verb that could not call its kernel: 2 no such file, 3 not a library, 4 no such symbol or no device,
/// 6 the process died.
int exit_code(KernelLoadError::Reason reason);

struct KernelLimits {
  double seconds_per_call = 10;
  double seconds_to_load = 120;  // frameworks take seconds, and several times as long on a busy machine
  std::size_t buffer_bytes = std::size_t{64} << 20;  // per tensor, in the long-lived child
  std::size_t sparse_bytes = std::size_t{64} << 30;  // per tensor of a sparse call, most of whose pages do not exist
  std::size_t additional_memory = std::size_t{8} << 30;  // address space beyond the judge's own
  Isolation isolation = Isolation::full;
  std::uint64_t most_calls = 0;  // a WatchedKernel then throws Interrupted; 0: no limit
  /// Polled some twenty times a second during a call; true ends the call and its processes.
  std::function<bool()> interrupted = {};
};

/// A kernel in a separate process, isolated as docs/security.md says. The judge never loads the library. A crash, a
/// hang, an exit, or a library that switches on flush-to-zero when it loads affects only that process; if it dies, a
/// new process replaces it. Tensors lie in shared memory between inaccessible pages; the kernel can access the part
/// that the call uses, and a small margin around it. While an IsolatedKernel exists, no other process can trace the
/// judge.
class IsolatedKernel {
 public:
  /// throws   KernelLoadError
  explicit IsolatedKernel(KernelSource source, KernelLimits limits = {});
  ~IsolatedKernel();
  IsolatedKernel(const IsolatedKernel&) = delete;
  IsolatedKernel& operator=(const IsolatedKernel&) = delete;

  /// Of a tensor larger than limits.buffer_bytes, only the pages with elements exist: a stray access is a crash.
  ///
  /// throws   std::invalid_argument if the call does not fit the buffers or its sizes disagree; std::system_error if
  ///          the system does not provide a sparse buffer's addresses; Interrupted
  TensorReply call(const TensorCall& call);
  /// The same for a call of compact tensors, whose bytes the caller encodes and decodes. For thousands of calls. The
  /// reply has no values and no wrote_late; see wrote_late().
  ///
  /// call      tensors of at most limits.buffer_bytes each; values are not read
  /// inputs    all bytes of each input
  /// outputs   one buffer of each output's size; written if the call is done
  TensorReply call_bytes(const TensorCall& call, std::span<const std::span<const std::byte>> inputs,
                         std::span<const std::span<std::byte>> outputs);
  /// Starts a new process for the next call. Returns false, and does nothing, if calls are forwarded, or if a library
  /// that cannot be forked was loaded most_loads times this way: an import may take 10 s.
  bool start_anew();
  /// Has the kernel written to the memory of its last call after that returned? call() checks this, too.
  bool wrote_late();

  const KernelSource& source() const;
  /// The isolation that the system allowed.
  const Containment& containment() const;
  /// The same as one line for a report, also if there is none.
  std::string isolation() const;
  /// Did the library change the floating-point environment of the process that loaded it?
  bool loading_changed_environment() const;
  /// Bytes that the kernel has written to stdout and stderr.
  std::size_t printed_bytes() const;
  /// The last of these lines.
  std::vector<std::string> printed_lines() const;
  std::size_t calls() const;
  /// Includes calls that were not made.
  std::size_t refused_calls() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace softcheck::proptests
