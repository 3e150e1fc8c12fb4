#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "judge/results/given_tensor.hpp"
#include "judge/results/tensor_shape.hpp"

/// What attention's scores have beside queries and keys, as tensors at hand.
namespace softcheck::proptests {

/// throws   std::invalid_argument naming the tensor where a number is not finite
void require_finite(const std::string& name, std::span<const double> numbers);

/// The same numbers with the shape, a stride of 0 where a dimension repeats.
GivenTensor broadcast_to(const GivenTensor& tensor, const std::string& name, const Shape& shape);

/// One number a head, of `count` heads from `first` on; none without the tensor.
///
/// throws   std::invalid_argument naming the tensor unless it is (heads) and those numbers are finite
std::vector<double> vector_of_heads(const GivenTensor* tensor, const std::string& name, std::int64_t heads,
                                    std::size_t first, std::size_t count);

}  // namespace softcheck::proptests
