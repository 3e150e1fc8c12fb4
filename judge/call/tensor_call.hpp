#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "judge/op/op.hpp"
#include "numerics/formats/format.hpp"

namespace softcheck::proptests {

/// The most that a call may have of each (kernels/abi/softcheck_kernel.h).
inline constexpr std::size_t most_dimensions = 4;
inline constexpr std::size_t most_inputs = 11;
inline constexpr std::size_t most_outputs = 5;

/// Whose memory a kernel's tensors lie in.
enum class Device : std::int32_t { cpu, cuda };

/// A tensor's shape and its layout in memory. Every argument of a call has its own.
struct TensorPlace {
  std::optional<numerics::Format> format = numerics::Format::f32;  // nothing: integers of integer_bits
  std::vector<std::int64_t> shape;                                 // 1 to 4 dimensions, each >= 0
  std::vector<std::int64_t> strides;  // >= 1, in elements, keeping the elements apart; empty: compact, passed as NULL
  std::int64_t offset = 0;            // elements of byte_offset in front of the view
  bool against_the_end = true;        // the view ends (else begins) at a page that cannot be touched
  int integer_bits = 8;               // 8: uint8, a mask; 32 and 64: signed, labels and ids
  std::size_t alignment = 1;          // of the first element's address: bytes, a power of two up to a page

  std::size_t elements() const;
  std::size_t element_bytes() const;
  /// Of each dimension, in elements; the compact ones where strides is empty.
  std::vector<std::int64_t> strides_in_use() const;
  /// From the first element to behind the last one; 0 where there is none.
  std::size_t bytes() const;
  /// The same rounded up to the alignment: a view of so many bytes that ends at a page begins where it should.
  std::size_t aligned_bytes() const;
  /// Where each element begins, row-major, in bytes from the first one.
  std::vector<std::size_t> offsets() const;
};

struct InputTensor {
  TensorPlace place;
  std::vector<double> values;                       // row-major, each a value of the format
  std::map<std::size_t, std::uint64_t> patterns{};  // in place of values[i] these bits of the format: NaNs have many
};

struct OutputTensor {
  TensorPlace place;
  std::optional<std::size_t> in_place_of;  // the input that it is one view with: same format and place
};

/// One call of a kernel.
struct TensorCall {
  std::vector<InputTensor> inputs;
  std::vector<OutputTensor> outputs;
  double theta = 1;
  double scale = 1;
  bool causal = false;
  /// The ABI's op where version 1 cannot say it; the roles of the inputs are then passed, too.
  std::uint32_t op = 0;
  std::vector<Role> roles = {};
  Attributes attributes = {};
};

/// How a call ended. Only a function of the judge's own program can report `malformed`: the wrapped function returned a
/// wrong shape or dtype. not_made: the device has no memory for the tensors, and the kernel was not called.
enum class CallEnd { done, refused, crashed, timed_out, malformed, not_made };

struct TensorReply {
  CallEnd end = CallEnd::done;
  int refusal = 0;                           // the nonzero return of a refused call
  std::vector<std::vector<double>> outputs;  // of each output, row-major; none unless the call was done
  bool inputs_changed = false;
  bool wrote_outside = false;  // in a gap, in front of a view or behind it
  bool wrote_late = false;     // in the memory of an earlier call, after that had returned
  bool environment_changed = false;
  std::string death;                      // "signal 11 (Segmentation fault)", "exit(0)"
  std::vector<std::string> printed = {};  // the last lines of a kernel that did not return
};

/// throws   std::invalid_argument when sizes disagree, or there are too many tensors or dimensions
void require_valid(const TensorCall& call);

/// Values, some of them replaced, as the bits of their format.
std::vector<std::uint64_t> encode(const InputTensor& tensor);
/// Bits as the values of their format.
std::vector<double> decode(const TensorPlace& place, const std::vector<std::uint64_t>& bits);

/// Element i is offsets[i] bytes from the first one, at target or source; without offsets elements stand side by side.
void store(const TensorPlace& place, const std::vector<std::size_t>& offsets, const std::vector<std::uint64_t>& bits,
           std::byte* target);
std::vector<std::uint64_t> load(const TensorPlace& place, const std::vector<std::size_t>& offsets,
                                const std::byte* source);
/// Are the elements those that have been stored?
bool holds(const TensorPlace& place, const std::vector<std::size_t>& offsets, const std::vector<std::uint64_t>& bits,
           const std::byte* source);
/// All bytes of the elements become filling.
void wipe(const TensorPlace& place, const std::vector<std::size_t>& offsets, std::byte filling, std::byte* target);

/// The largest power of two, up to a page, that divides the first address of every tensor of the call.
std::uint64_t alignment_of(const TensorCall& call);

}  // namespace softcheck::proptests
