#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "judge/results/given_tensor.hpp"

namespace softcheck::proptests {

// The dimensions of attention's tensors.
inline constexpr std::size_t of_batch = 0, of_heads = 1, of_length = 2, of_dim = 3;

/// A tensor of two to four dimensions, with dimensions of size 1 in front: (batch, heads, length, dim).
///
/// throws   std::invalid_argument naming the tensor
GivenTensor of_four(const GivenTensor& tensor, const std::string& name);

/// throws   std::invalid_argument naming the tensor unless its dimension has the size; what is whose size that is
void require_size(const std::string& name, const GivenTensor& tensor, std::size_t dimension, std::int64_t need,
                  const char* what);
/// throws   std::invalid_argument naming the tensor unless its heads divide q's
void require_heads(const std::string& name, const GivenTensor& tensor, std::int64_t heads);

inline std::size_t size_of(const GivenTensor& tensor, std::size_t dimension) {
  return static_cast<std::size_t>(tensor.shape[dimension]);
}

/// Rows of one head, compact: (length, dim).
void decode_head(const GivenTensor& tensor, std::int64_t batch, std::int64_t head, std::span<double> values);

}  // namespace softcheck::proptests
