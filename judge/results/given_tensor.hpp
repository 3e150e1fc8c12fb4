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

/// A caller's tensor in this machine's memory. Read in place, never copied as a whole, never written.
struct GivenTensor {
  const std::byte* first = nullptr;        // the first element; may be null without elements
  std::optional<numerics::Format> format;  // nothing: integers, or a mask of bytes (nonzero = visible)
  std::vector<std::int64_t> shape;         // any number of dimensions, each >= 0
  std::vector<std::int64_t> strides;       // in elements, of any sign; 0 repeats an element
  unsigned integer_bits = 0;               // 32 or 64 for signed integers, such as labels; else 0

  bool is_mask() const { return !format && integer_bits == 0; }
};

/// "f32", "int64", "a mask of bytes".
std::string dtype_name(const GivenTensor& tensor);

/// The tensor of a DLTensor. Bool and uint8 are masks, int32 and int64 labels.
///
/// name     of the tensor, for errors: "logits"
/// throws   std::invalid_argument with the tensor, what is needed and what was given, for a device other than the CPU,
///          a dtype other than formats, int32, int64, uint8 and bool, lanes, a negative size, or missing data
GivenTensor from_dlpack(const DLTensor& tensor, std::string_view name);

using Shape = std::vector<std::int64_t>;

/// "(3, 7)", "(3,)", "()"
std::string shape_text(std::span<const std::int64_t> shape);

/// The number of elements of a shape.
///
/// name     of the tensor, for errors
/// throws   std::invalid_argument if a size is negative, or there are more than 2^48 elements
std::size_t elements_of(std::span<const std::int64_t> shape, const std::string& name);

/// Strides of a row-major tensor without gaps.
Shape compact_strides(std::span<const std::int64_t> shape);

/// throws   std::invalid_argument with the tensor's name unless the shapes are equal
void require_shape(const std::string& name, std::span<const std::int64_t> got, std::span<const std::int64_t> need);

/// Strides that broadcast a tensor to another shape as NumPy does: from the right, repeating dimensions of size 1 and
/// missing ones.
///
/// throws   std::invalid_argument with the tensor's name if the sizes do not fit
Shape broadcast_strides(const std::string& name, std::span<const std::int64_t> shape,
                        std::span<const std::int64_t> strides, std::span<const std::int64_t> target);

/// The offsets of rows in a row-major walk over some dimensions.
class RowWalk {
 public:
  /// shape   of the walked dimensions
  explicit RowWalk(Shape shape);
  std::size_t rows() const { return rows_; }
  /// One index per dimension.
  std::vector<std::int64_t> index(std::size_t row) const;
  /// In elements, for a tensor with these strides; ignores strides beyond the walked dimensions.
  std::int64_t offset(std::size_t row, std::span<const std::int64_t> strides) const;

 private:
  Shape shape_;
  std::size_t rows_;
};

/// Reads elements at a constant stride as doubles, exactly.
///
/// tensor   has a format
/// offset   of the first element, in elements from tensor.first
/// stride   in elements, of any sign
void decode_elements(const GivenTensor& tensor, std::int64_t offset, std::int64_t stride, std::span<double> values);

/// All of its numbers, row-major.
std::vector<double> decoded(const GivenTensor& tensor);

/// One element of an integer tensor.
std::int64_t integer_at(const GivenTensor& tensor, std::int64_t offset);

/// A row's label; nothing if the row is ignored.
///
/// row      of the labels' shape
/// throws   std::invalid_argument unless the label is a class or ignored
std::optional<std::size_t> label_at(const GivenTensor& labels, const RowWalk& walk, std::size_t row,
                                    std::int64_t classes, std::int64_t ignored);

/// Sets items[i] to `hidden` if its mask byte is 0, and keeps it otherwise.
void hide_masked(const GivenTensor& mask, std::int64_t offset, std::int64_t stride, double hidden,
                 std::span<double> items);

/// Is the mask's byte nonzero, that is visible?
bool mask_shows(const GivenTensor& mask, std::int64_t offset);

}  // namespace softcheck::proptests
