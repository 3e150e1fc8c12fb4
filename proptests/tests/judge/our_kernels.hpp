#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "judge/call/tensor_call.hpp"
#include "judge/op/op.hpp"
#include "judge/sandbox/isolated_kernel.hpp"
#include "proptests/tests/judge/kernel_samples.hpp"

// Kernels of the test program itself, called without a judgement.
namespace softcheck::proptests {

/// How a matrix lies in memory.
struct Layout {
  std::int64_t column_stride = 1;  // elements from one column to the next
  std::int64_t row_gap = 0;        // elements between the last column's place and the next row
  std::int64_t offset = 0;         // elements of byte_offset in front of the view
  bool against_the_end = true;     // the buffer ends (else begins) at a page that cannot be touched
};

/// One call of a kernel of the softmax family on a matrix of logits. A row scalar's output is a column of (rows):
/// output_layout's column_stride and row_gap then lie between one row and the next.
struct KernelCall {
  Op op = Op::softmax;
  numerics::Format input = numerics::Format::f32;
  numerics::Format output = numerics::Format::f32;
  std::int64_t rows = 1;
  std::int64_t columns = 0;
  std::vector<double> logits;      // (rows, columns), each a value of the input format
  std::vector<std::uint8_t> mask;  // (rows, columns), nonzero = visible; empty: no mask is passed
  double theta = 1;
  Layout layout;  // of the logits
  Layout output_layout;
  Layout mask_layout;
  bool in_place = false;  // the output is the logits' view
};

inline TensorPlace place_of(std::optional<numerics::Format> format, std::int64_t rows, std::int64_t columns,
                            const Layout& layout) {
  if (layout.column_stride < 1 || layout.row_gap < 0 || layout.offset < 0) {
    throw std::invalid_argument("KernelCall: need column_stride >= 1, row_gap >= 0 and offset >= 0");
  }
  TensorPlace place;
  place.format = format;
  place.shape = {rows, columns};
  // NULL means compact: half of the kernels forget it, so it is what a compact matrix passes. A kernel may divide by a
  // stride, and tensors must have positive ones: an empty row has the stride of a row of one.
  const std::int64_t row_stride = std::max<std::int64_t>(columns, 1) * layout.column_stride + layout.row_gap;
  if (layout.column_stride != 1 || layout.row_gap != 0) place.strides = {row_stride, layout.column_stride};
  place.offset = layout.offset;
  place.against_the_end = layout.against_the_end;
  return place;
}

inline TensorPlace column_of(numerics::Format format, std::int64_t rows, const Layout& layout) {
  TensorPlace place = place_of(format, rows, 1, layout);
  place.shape.pop_back();
  if (!place.strides.empty()) place.strides.pop_back();
  return place;
}

/// throws   std::invalid_argument when its sizes disagree or a layout is impossible
inline TensorCall lowered(const KernelCall& call) {
  const auto elements = static_cast<std::size_t>(call.rows * call.columns);
  if (call.rows < 0 || call.columns < 0 || call.logits.size() != elements ||
      (!call.mask.empty() && call.mask.size() != elements)) {
    throw std::invalid_argument("KernelCall: need rows * columns logits (and as many in the mask), got " +
                                std::to_string(call.rows) + " * " + std::to_string(call.columns) + ", " +
                                std::to_string(call.logits.size()) + " and " + std::to_string(call.mask.size()));
  }
  TensorCall result;
  result.inputs.push_back({place_of(call.input, call.rows, call.columns, call.layout), call.logits});
  if (!call.mask.empty()) {
    result.inputs.push_back({place_of(std::nullopt, call.rows, call.columns, call.mask_layout),
                             std::vector<double>(call.mask.begin(), call.mask.end())});
  }
  if (call.in_place) {
    result.outputs.push_back({result.inputs[0].place, 0});
  } else if (call.op->one_value_per_row) {
    result.outputs.push_back({column_of(call.output, call.rows, call.output_layout), std::nullopt});
  } else {
    result.outputs.push_back({place_of(call.output, call.rows, call.columns, call.output_layout), std::nullopt});
  }
  result.theta = call.theta;
  return result;
}

inline const std::string intruders = library_path("softcheck_intruders");

/// Values in memory that this program shares with every process that comes of it.
template <class Value, std::size_t count>
class SharedValues {
 public:
  SharedValues()
      : memory_(mmap(nullptr, count * sizeof(Value), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~SharedValues() { munmap(memory_, count * sizeof(Value)); }
  SharedValues(const SharedValues&) = delete;
  SharedValues& operator=(const SharedValues&) = delete;
  Value& operator[](std::size_t i) const { return static_cast<Value*>(memory_)[i]; }

 private:
  void* memory_;
};
using Shared = SharedValues<std::atomic<int>, 1024>;

/// Two equal logits, where a test asks for nothing else.
inline KernelCall two_logits() {
  KernelCall call;
  call.columns = 2;
  call.logits = {1, 1};
  return call;
}
inline TensorCall one_row() { return lowered(two_logits()); }

inline KernelSource source_of(std::function<int(const softcheck_call*)> kernel) {
  return {"this program", "kernel", std::move(kernel)};
}

inline KernelLimits limits_of(Isolation isolation = Isolation::full) {
  KernelLimits limits;
  limits.isolation = isolation;
  return limits;
}
/// For what is to time out.
inline KernelLimits short_limits(Isolation isolation = Isolation::full) {
  KernelLimits limits = limits_of(isolation);
  limits.seconds_per_call = 0.5;
  return limits;
}

/// The answer of a kernel of this program to one call, its only one.
inline TensorReply own_reply(std::function<int(const softcheck_call*)> kernel, const TensorCall& call = one_row(),
                             const KernelLimits& limits = limits_of()) {
  return IsolatedKernel(source_of(std::move(kernel)), limits).call(call);
}

inline double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace softcheck::proptests
