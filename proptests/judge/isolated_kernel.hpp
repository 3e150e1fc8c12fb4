#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/abi/softcheck_kernel.h"
#include "proptests/interrupted.hpp"
#include "proptests/judge/containment.hpp"
#include "proptests/judge/tensor_call.hpp"

namespace softcheck::proptests {

/// How a call ended that the judge's own program has passed on (KernelSource::forwarded).
struct ForwardedEnd {
  CallEnd end = CallEnd::done;
  int returned = 0;     // of a refused call, not 0
  std::string death;    // of one that was not answered, as for a reader: "signal 11"
  std::string printed;  // the end of what the kernel had printed then
};

/// What a callable returns for CallEnd::malformed, once it has printed what is wrong.
inline constexpr int returned_malformed = -1'000'003;

/// A kernel in a shared library, or one of this program.
struct KernelSource {
  std::string library;
  std::string symbol;
  /// Where set, what the child calls: it is a fork of this program. library and symbol then only name it. It returns
  /// what a kernel returns, or returned_malformed.
  std::function<int(const softcheck_call*)> callable = {};
  /// Where set instead, what is called in the judge's own process, on the judge's own thread: nothing of it is
  /// contained, and no limit of time is kept but by itself. It may ask another process and say how the call ended
  /// there.
  std::function<ForwardedEnd(const softcheck_call*)> forwarded = {};
  /// Of forwarded calls: what keeps the kernel from the judge, for a report.
  std::string forwarded_isolation = "none: called in the judge's own process";
  /// How a kernel of a program is judged again; empty: by softcheck::conforms. In it "{contract}" stands for
  /// ", contract='WORDS'" and "{replay}" for ", replay='PROPERTY CASE'", or for nothing.
  std::string again = {};
};

/// Splits "LIB:SYMBOL" at its last colon; throws std::invalid_argument when either part is missing.
KernelSource parse_kernel_source(std::string_view text);

/// Why a kernel cannot be called at all.
class KernelLoadError : public std::runtime_error {
 public:
  enum class Reason { no_such_file, not_a_library, no_such_symbol, died_while_loading };
  KernelLoadError(Reason reason, const std::string& text) : std::runtime_error(text), reason(reason) {}
  Reason reason;
};

/// Exit code of a verb that could not call its kernel: 2 no such file, 3 no library, 4 no such symbol, 6 it died.
int exit_code(KernelLoadError::Reason reason);

struct KernelLimits {
  double seconds_per_call = 10;
  double seconds_to_load = 120;  // frameworks take seconds, and a loaded machine several times as long
  std::size_t buffer_bytes = std::size_t{64} << 20;      // of each tensor in a child that goes on
  std::size_t sparse_bytes = std::size_t{64} << 30;      // of one whose pages are mostly not there
  std::size_t additional_memory = std::size_t{8} << 30;  // address space beyond the judge's own
  Isolation isolation = Isolation::full;
  /// Asked some twenty times a second while a call is under way: true ends the call, and what goes on with it.
  std::function<bool()> interrupted = {};
};

/// A kernel in a process of its own, contained as docs/security.md says. The library is never loaded into the judge: a
/// crash, a hang, an exit, or a library that switches on flush-to-zero as it loads stays in that process, which is
/// replaced after its death. Tensors travel through shared pages between pages that cannot be touched; of these the
/// kernel can touch what the call covers and little around it. While one is there the judge cannot be traced.
class IsolatedKernel {
 public:
  /// throws   KernelLoadError
  explicit IsolatedKernel(KernelSource source, KernelLimits limits = {});
  ~IsolatedKernel();
  IsolatedKernel(const IsolatedKernel&) = delete;
  IsolatedKernel& operator=(const IsolatedKernel&) = delete;

  /// Of a tensor of more than limits.buffer_bytes only the pages that hold elements are there: a stray access beside
  /// them is a crash.
  ///
  /// throws   std::invalid_argument when the call does not fit the buffers or its sizes disagree; std::system_error
  ///          when the system does not let a sparse buffer have its addresses; Interrupted
  TensorReply call(const TensorCall& call);
  /// Has the kernel written to the memory of its last call since that returned? call() asks, too.
  bool wrote_late();

  const KernelSource& source() const;
  /// What keeps the kernel from the judge and the machine: as far as the system let it.
  const Containment& containment() const;
  /// One line for a report: what that comes to, or that there is nothing.
  std::string isolation() const;
  /// Did the library change the floating-point environment of the process that loaded it?
  bool loading_changed_environment() const;
  /// Bytes that the kernel has written to stdout and stderr so far.
  std::size_t printed_bytes() const;
  /// The last lines of that.
  std::vector<std::string> printed_lines() const;
  std::size_t calls() const;
  std::size_t refused_calls() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace softcheck::proptests
