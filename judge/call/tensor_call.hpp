#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "judge/op/op.hpp"
#include "numerics/formats/format.hpp"

namespace softcheck::proptests {

/// The ABI's limits (kernels/abi/softcheck_kernel.h).
inline constexpr std::size_t most_dimensions = 4;
inline constexpr std::size_t most_inputs = 11;
inline constexpr std::size_t most_outputs = 5;

/// The memory that holds a kernel's tensors.
enum class Device : std::int32_t { cpu, cuda };

/// A tensor's shape and its layout in memory. Each tensor of a call has its own.
struct TensorPlace {
  std::optional<numerics::Format> format = numerics::Format::f32;  // nothing: integers of integer_bits
  std::vector<std::int64_t> shape;                                 // 1 to 4 dimensions, each >= 0
  // In elements; empty: compact, passed as NULL. >= 1, and no two elements overlap; 0 for an input whose elements are
  // equal along that dimension.
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;      // byte_offset in elements, in front of the view
  bool against_the_end = true;  // the view ends at an inaccessible page; else it begins at one
  int integer_bits = 8;         // 8: uint8, a mask; 32 and 64: signed, labels and ids
  std::size_t alignment = 1;    // of the first element's address, in bytes: a power of two up to a page

  std::size_t elements() const;
  std::size_t element_bytes() const;
  /// In elements, per dimension; the compact strides if `strides` is empty.
  std::vector<std::int64_t> strides_in_use() const;
  /// From the first element to the end of the last one; 0 without elements.
  std::size_t bytes() const;
  /// bytes() rounded up to the alignment: a view of this size that ends at a page begins at an aligned address.
  std::size_t aligned_bytes() const;
  /// Byte offset of each element from the first one, row-major.
  std::vector<std::size_t> offsets() const;
};

struct InputTensor {
  TensorPlace place;
  std::vector<double> values;                       // row-major, each a value of the format
  std::map<std::size_t, std::uint64_t> patterns{};  // bits that replace values[i]: NaNs have many
  std::optional<std::size_t> view_of{};             // lies in this earlier input's memory, from its first element on
};

struct OutputTensor {
  TensorPlace place;
  std::optional<std::size_t> in_place_of;  // lies in this input's memory, from its first element on
};

/// One call of a kernel.
struct TensorCall {
  std::vector<InputTensor> inputs;
  std::vector<OutputTensor> outputs;
  double theta = 1;
  double scale = 1;
  bool causal = false;
  /// The ABI's op if version 1 cannot name it; then the roles of the inputs are passed, too.
  std::uint32_t op = 0;
  std::vector<Role> roles = {};
  Attributes attributes = {};
};

/// How a call ended. `malformed`: a function of the judge's own program returned a wrong shape or dtype. `not_made`:
/// the device has no memory for the tensors, so the judge did not call the kernel.
enum class CallEnd { done, refused, crashed, timed_out, malformed, not_made };

struct TensorReply {
  CallEnd end = CallEnd::done;
  int refusal = 0;                           // nonzero return value of a refused call
  std::vector<std::vector<double>> outputs;  // of each output, row-major; empty unless end is done
  bool inputs_changed = false;
  bool wrote_outside = false;  // in a gap, in front of a view or behind it
  bool wrote_late = false;     // into the memory of an earlier call after that call returned
  bool environment_changed = false;
  std::string death;                      // "signal 11 (Segmentation fault)", "exit(0)"
  std::vector<std::string> printed = {};  // the last lines that a kernel printed before it died
};

/// throws   std::invalid_argument if sizes disagree, or there are too many tensors or dimensions
void require_valid(const TensorCall& call);

/// The bits of the tensor's values in its format; `patterns` replaces some of them.
std::vector<std::uint64_t> encode(const InputTensor& tensor);
/// The values of these bits.
std::vector<double> decode(const TensorPlace& place, const std::vector<std::uint64_t>& bits);

/// Element i lies offsets[i] bytes after the first one at target or source; without offsets the elements are
/// contiguous.
void store(const TensorPlace& place, const std::vector<std::size_t>& offsets, const std::vector<std::uint64_t>& bits,
           std::byte* target);
std::vector<std::uint64_t> load(const TensorPlace& place, const std::vector<std::size_t>& offsets,
                                const std::byte* source);
/// Does the memory still hold these bits?
bool holds(const TensorPlace& place, const std::vector<std::size_t>& offsets, const std::vector<std::uint64_t>& bits,
           const std::byte* source);
/// Overwrites every byte of the elements with the filling.
void wipe(const TensorPlace& place, const std::vector<std::size_t>& offsets, std::byte filling, std::byte* target);

/// The largest power of two, up to a page, that divides the address of every tensor of the call.
std::uint64_t alignment_of(const TensorCall& call);

/// The sizes (lengths, magnitudes) of a judgement's calls by dimension: the largest that was judged, and the largest
/// that the field or the domain uses.
class CallSizes {
 public:
  struct Size {
    std::string dimension;
    double range = 0;    // largest size in use
    double largest = 0;  // largest size of a judged call
  };

  explicit CallSizes(std::vector<Size> sizes = {}) : sizes_(std::move(sizes)) {}

  /// Records the size of a judged call. Ignores unknown dimensions.
  void reach(std::string_view dimension, double size);
  const std::vector<Size>& all() const { return sizes_; }
  /// "largest called: rows 65537, n 1000001"; empty without dimensions.
  std::string largest_called() const;
  /// "n beyond 131072, up to 1000000: no judged call had it", for each dimension whose largest call is below its range.
  std::vector<std::string> not_tried() const;

 private:
  std::vector<Size> sizes_;
};

}  // namespace softcheck::proptests
