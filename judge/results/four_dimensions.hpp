#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "judge/results/given_tensor.hpp"

/// Mask, bias, sinks and slopes of attention's scores, as tensors in memory.
namespace softcheck::proptests {

// Indices of the dimensions of attention's tensors.
inline constexpr std::size_t of_batch = 0, of_heads = 1, of_length = 2, of_dim = 3;

/// The tensor with leading dimensions of size 1 added up to four: (batch, heads, length, dim).
///
/// throws   std::invalid_argument with the tensor's name
GivenTensor of_four(const GivenTensor& tensor, const std::string& name);

/// throws   std::invalid_argument with the tensor's name unless the dimension has this size; `what` says whose size it
/// is
void require_size(const std::string& name, const GivenTensor& tensor, std::size_t dimension, std::int64_t need,
                  const char* what);
/// throws   std::invalid_argument with the tensor's name unless its heads divide q's
void require_heads(const std::string& name, const GivenTensor& tensor, std::int64_t heads);

inline std::size_t size_of(const GivenTensor& tensor, std::size_t dimension) {
  return static_cast<std::size_t>(tensor.shape[dimension]);
}

/// Offset of a row of (batch, heads, length, dim), in elements.
inline std::int64_t offset_of_row(const GivenTensor& tensor, std::size_t batch, std::size_t head, std::size_t row) {
  return static_cast<std::int64_t>(batch) * tensor.strides[of_batch] +
         static_cast<std::int64_t>(head) * tensor.strides[of_heads] +
         static_cast<std::int64_t>(row) * tensor.strides[of_length];
}

/// The rows of one head, compact: (length, dim).
void decode_head(const GivenTensor& tensor, std::int64_t batch, std::int64_t head, std::span<double> values);

/// throws   std::invalid_argument with the tensor's name if a number is not finite
void require_finite(const std::string& name, std::span<const double> numbers);

/// The same numbers with this shape; repeated dimensions have stride 0.
GivenTensor broadcast_to(const GivenTensor& tensor, const std::string& name, const Shape& shape);

/// One number per head, for `count` heads from `first` on; empty without the tensor.
///
/// throws   std::invalid_argument with the tensor's name unless it is (heads) and these numbers are finite
std::vector<double> vector_of_heads(const GivenTensor* tensor, const std::string& name, std::int64_t heads,
                                    std::size_t first, std::size_t count);

}  // namespace softcheck::proptests
