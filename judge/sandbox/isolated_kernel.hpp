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

/// How a call ended that the judge's own program forwarded (KernelSource::forwarded).
struct ForwardedEnd {
  CallEnd end = CallEnd::done;
  int returned = 0;     // of a refused call, not 0
  std::string death;    // of one that was not answered, as for a reader: "signal 11"
  std::string printed;  // the end of what the kernel had printed then
};

/// Return value of a callable for CallEnd::malformed, after it has printed the error.
inline constexpr int returned_malformed = -1'000'003;

/// A kernel in a shared library, or one of this program.
struct KernelSource {
  std::string library;
  std::string symbol;
  /// If set, the child, a fork of this program, calls this; library and symbol then only name it. It returns the value
  /// of a kernel, or returned_malformed.
  std::function<int(const softcheck_call*)> callable = {};
  /// If set instead, the judge calls this in its own process, on its own thread: it is not contained, and only the
  /// function itself can keep a time limit. It may call another process and return how the call ended there.
  std::function<ForwardedEnd(const softcheck_call*)> forwarded = {};
  /// For forwarded calls: the isolation of the kernel from the judge, for a report.
  std::string forwarded_isolation =
      "none: called in the judge's own process: a crash, a hang or a stray write of the function ends or harms this "
      "program itself";
  /// The call that judges a kernel of a program again; empty: by softcheck::conforms. In it "{contract}" stands for
  /// ", contract='WORDS'", "{domain}" for ", domain='WORDS'" and "{replay}" for ", replay='PROPERTY CASE'", or for
  /// nothing.
  std::string again = {};
  /// Of a library's kernel. Where it is CUDA's, the call has copies of the tensors there.
  Device device = Device::cpu;
};

/// Splits "LIB:SYMBOL" at its last colon; throws std::invalid_argument when either part is missing.
KernelSource parse_kernel_source(std::string_view text);

/// Why a kernel cannot be called at all.
class KernelLoadError : public std::runtime_error {
 public:
  enum class Reason { no_such_file, not_a_library, no_such_symbol, no_device, died_while_loading };
  KernelLoadError(Reason reason, const std::string& text) : std::runtime_error(text), reason(reason) {}
  Reason reason;
};

/// Exit code of a verb that could not call its kernel: 2 no such file, 3 no library, 4 no such symbol or no device, 6
/// it died.
int exit_code(KernelLoadError::Reason reason);

struct KernelLimits {
  double seconds_per_call = 10;
  double seconds_to_load = 120;  // frameworks take seconds, and a loaded machine several times as long
  std::size_t buffer_bytes = std::size_t{64} << 20;      // of each tensor in a child that goes on
  std::size_t sparse_bytes = std::size_t{64} << 30;      // of one whose pages are mostly not there
  std::size_t additional_memory = std::size_t{8} << 30;  // address space beyond the judge's own
  Isolation isolation = Isolation::full;
  std::uint64_t most_calls = 0;  // a WatchedKernel throws Interrupted in place of one more; 0: any number
  /// The judge calls it some twenty times a second during a call: true ends the call and its processes.
  std::function<bool()> interrupted = {};
};

/// A kernel in a separate process, contained as docs/security.md says. The judge never loads the library. A crash, a
/// hang, an exit, or a library that switches on flush-to-zero as it loads affects only that process, and a new process
/// replaces it after its death. Tensors lie in shared pages between pages without access; the kernel can access the
/// part that the call covers, and little around it. While an IsolatedKernel exists, the judge cannot be traced.
class IsolatedKernel {
 public:
  /// throws   KernelLoadError
  explicit IsolatedKernel(KernelSource source, KernelLimits limits = {});
  ~IsolatedKernel();
  IsolatedKernel(const IsolatedKernel&) = delete;
  IsolatedKernel& operator=(const IsolatedKernel&) = delete;

  /// A tensor of more than limits.buffer_bytes has only the pages that hold elements: a stray access beside them is a
  /// crash.
  ///
  /// throws   std::invalid_argument when the call does not fit the buffers or its sizes disagree; std::system_error
  ///          when the system does not let a sparse buffer have its addresses; Interrupted
  TensorReply call(const TensorCall& call);
  /// The same for a call of compact tensors, whose bytes the judge encodes and decodes by itself: for calls by the
  /// thousand. The reply has no values, and wrote_late is asked for apart.
  ///
  /// call      at most limits.buffer_bytes each; its values are not read
  /// inputs    all bytes of each input
  /// outputs   as many bytes as each output has; written if the call was done
  TensorReply call_bytes(const TensorCall& call, std::span<const std::span<const std::byte>> inputs,
                         std::span<const std::span<std::byte>> outputs);
  /// The next call is the first of a new process. False, and nothing happens, where calls are forwarded, or where a
  /// library that cannot be forked was loaded so often for this: an import may take 10 s.
  bool start_anew();
  /// Has the kernel written to the memory of its last call since that returned? call() asks, too.
  bool wrote_late();

  const KernelSource& source() const;
  /// The kernel's isolation from the judge and the machine, as far as the system allowed it.
  const Containment& containment() const;
  /// The same as one line for a report; also if there is no isolation.
  std::string isolation() const;
  /// Did the library change the floating-point environment of the process that loaded it?
  bool loading_changed_environment() const;
  /// Bytes that the kernel wrote to stdout and stderr so far.
  std::size_t printed_bytes() const;
  /// The last lines of that.
  std::vector<std::string> printed_lines() const;
  std::size_t calls() const;
  /// And those that were not made.
  std::size_t refused_calls() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace softcheck::proptests
