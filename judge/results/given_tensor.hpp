#pragma once

#include <dlpack/dlpack.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
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
GivenTensor from_dlpack(const DLTensor& tensor, std::string_view name);

using Shape = std::vector<std::int64_t>;

/// "(3, 7)", "(3,)", "()"
std::string shape_text(std::span<const std::int64_t> shape);

/// How many elements a shape has.
///
/// name     of the tensor, for errors
/// throws   std::invalid_argument when a size is negative, or they are more than 2^48 elements
std::size_t elements_of(std::span<const std::int64_t> shape, const std::string& name);

/// Strides of a row-major tensor without gaps.
Shape compact_strides(std::span<const std::int64_t> shape);

/// throws   std::invalid_argument naming the tensor unless the shapes are the same
void require_shape(const std::string& name, std::span<const std::int64_t> got, std::span<const std::int64_t> need);

/// Strides by which a tensor is read as one of another shape, as NumPy broadcasts: from the right, and a size of 1, or
/// none at all, is repeated.
///
/// throws   std::invalid_argument naming the tensor where the sizes do not fit
Shape broadcast_strides(const std::string& name, std::span<const std::int64_t> shape,
                        std::span<const std::int64_t> strides, std::span<const std::int64_t> target);

/// Where the rows of a row-major walk over some dimensions begin.
class RowWalk {
 public:
  /// shape   of the dimensions that are walked over
  explicit RowWalk(Shape shape);
  std::size_t rows() const { return rows_; }
  /// Of each dimension.
  std::vector<std::int64_t> index(std::size_t row) const;
  /// In elements, for a tensor of these strides, of which those beyond the walked dimensions are not looked at.
  std::int64_t offset(std::size_t row, std::span<const std::int64_t> strides) const;

 private:
  Shape shape_;
  std::size_t rows_;
};

/// Elements of a tensor that stand a stride apart, as doubles, exactly.
///
/// tensor   has a format
/// offset   of the first, in elements from tensor.first
/// stride   in elements, of any sign
void decode_elements(const GivenTensor& tensor, std::int64_t offset, std::int64_t stride, std::span<double> values);

/// Element of a tensor of integers.
std::int64_t integer_at(const GivenTensor& tensor, std::int64_t offset);

/// The items that a mask hides: masked_items[i] becomes hidden where the byte is 0, and stays as it is elsewhere.
void hide_masked(const GivenTensor& mask, std::int64_t offset, std::int64_t stride, double hidden,
                 std::span<double> items);

/// The byte of a mask: nonzero is visible.
bool mask_shows(const GivenTensor& mask, std::int64_t offset);

}  // namespace softcheck::proptests
