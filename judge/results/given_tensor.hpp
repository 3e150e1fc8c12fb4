#pragma once

#include <dlpack/dlpack.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "numerics/formats/format.hpp"

namespace softcheck::proptests {

/// A caller's tensor in this machine's memory: read where it lies, never copied as a whole and never written.
struct GivenTensor {
  const std::byte* first = nullptr;        // the first element; may be null where there is none
  std::optional<numerics::Format> format;  // nothing: integers, or a mask of bytes, nonzero = visible
  std::vector<std::int64_t> shape;         // of any number of dimensions, each >= 0
  std::vector<std::int64_t> strides;       // in elements, of any sign; 0 repeats one element
  unsigned integer_bits = 0;               // 32 or 64: signed integers, as labels are; 0: none

  bool is_mask() const { return !format && integer_bits == 0; }
};

/// "f32", "int64", "a mask of bytes".
std::string dtype_name(const GivenTensor& tensor);

/// A DLTensor's elements. Bool and uint8 are masks, int32 and int64 labels.
///
/// name     of the tensor, for errors: "logits"
/// throws   std::invalid_argument naming the tensor, what is needed and what was got: another device than the CPU, a
///          dtype that is no format, int32, int64, uint8 or bool, lanes, a negative size, no data
GivenTensor held_tensor(const DLTensor& tensor, std::string_view name);

}  // namespace softcheck::proptests
