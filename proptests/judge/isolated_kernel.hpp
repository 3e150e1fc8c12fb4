#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "proptests/judge/op.hpp"

namespace softcheck::proptests {

/// A kernel in a shared library.
struct KernelSource {
  std::string library;
  std::string symbol;
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

/// How a matrix lies in memory, input and output alike.
struct Layout {
  std::int64_t column_stride = 1;  // elements from one column to the next
  std::int64_t row_gap = 0;        // elements between the last column's place and the next row
  std::int64_t offset = 0;         // elements of byte_offset in front of the view
  bool against_the_end = true;     // the buffers end (else begin) at a page that cannot be touched
};

/// One call of a kernel of the softmax family on a matrix of logits.
struct KernelCall {
  Op op = Op::softmax;
  numerics::Format input = numerics::Format::f32;
  numerics::Format output = numerics::Format::f32;
  std::int64_t rows = 1;
  std::int64_t columns = 0;
  std::vector<double> logits;      // (rows, columns), each a value of the input format
  std::vector<std::uint8_t> mask;  // (rows, columns), nonzero = visible; empty: no mask is passed
  double theta = 1;
  Layout layout;
};

/// How a call ended.
enum class CallEnd { done, refused, crashed, timed_out };

struct KernelReply {
  CallEnd end = CallEnd::done;
  int refusal = 0;              // the nonzero return of a refused call
  std::vector<double> outputs;  // (rows, columns) or (rows)
  bool inputs_changed = false;
  bool wrote_outside = false;  // in a gap, in front of the view or behind it
  bool environment_changed = false;
  std::string death;  // "signal 11 (Segmentation fault)", "exit(0)"
};

struct KernelLimits {
  double seconds_per_call = 10;
  std::size_t buffer_bytes = std::size_t{64} << 20;      // of the input, and of the output
  std::size_t additional_memory = std::size_t{8} << 30;  // address space beyond the judge's own
};

/// A kernel in a child process. The library is never loaded into the judge: a crash, a hang, an exit, or a library that
/// switches on flush-to-zero as it loads stays in the child, which is replaced after its death. Logits and results
/// travel through shared pages between pages that cannot be touched; what the kernel prints is kept and cannot forge a
/// reply.
class IsolatedKernel {
 public:
  /// throws   KernelLoadError
  explicit IsolatedKernel(KernelSource source, KernelLimits limits = {});
  ~IsolatedKernel();
  IsolatedKernel(const IsolatedKernel&) = delete;
  IsolatedKernel& operator=(const IsolatedKernel&) = delete;

  /// throws   std::invalid_argument when the call does not fit the buffers or its sizes disagree
  KernelReply call(const KernelCall& call);

  const KernelSource& source() const;
  /// Bytes that the kernel has written to stdout and stderr so far.
  std::size_t printed_bytes() const;
  std::size_t calls() const;
  std::size_t refused_calls() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace softcheck::proptests
