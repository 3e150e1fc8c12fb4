#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace softcheck::proptests {

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

}  // namespace softcheck::proptests
