#include "judge/results/four_dimensions.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "judge/results/given_tensor.hpp"

namespace softcheck::proptests {

GivenTensor of_four(const GivenTensor& tensor, const std::string& name) {
  if (tensor.shape.size() < 2 || tensor.shape.size() > 4) {
    throw std::invalid_argument(name + ": need two to four dimensions (batch, heads, length, dim), got shape " +
                                shape_text(tensor.shape));
  }
  GivenTensor result = tensor;
  result.shape.insert(result.shape.begin(), 4 - tensor.shape.size(), 1);
  result.strides.insert(result.strides.begin(), 4 - tensor.shape.size(), 0);
  return result;
}

void require_size(const std::string& name, const GivenTensor& tensor, std::size_t dimension, std::int64_t need,
                  const char* what) {
  if (tensor.shape[dimension] == need) return;
  throw std::invalid_argument(name + ": need " + what + " " + std::to_string(need) + ", got shape " +
                              shape_text(tensor.shape) + " (batch, heads, length, dim)");
}

void require_heads(const std::string& name, const GivenTensor& tensor, std::int64_t heads) {
  const std::int64_t own = tensor.shape[of_heads];
  if (own == heads || (own > 0 && heads % own == 0)) return;
  throw std::invalid_argument(name + ": need heads that divide q's " + std::to_string(heads) + ", got " +
                              std::to_string(own));
}

void decode_head(const GivenTensor& tensor, std::int64_t batch, std::int64_t head, std::span<double> values) {
  const std::size_t length = size_of(tensor, of_length), dim = size_of(tensor, of_dim);
  const std::int64_t first = batch * tensor.strides[of_batch] + head * tensor.strides[of_heads];
  for (std::size_t j = 0; j < length; ++j) {
    const std::int64_t offset = first + static_cast<std::int64_t>(j) * tensor.strides[of_length];
    decode_elements(tensor, offset, tensor.strides[of_dim], values.subspan(j * dim, dim));
  }
}

void require_finite(const std::string& name, std::span<const double> numbers) {
  const auto wrong = std::ranges::find_if(numbers, [](double x) { return !std::isfinite(x); });
  if (wrong == numbers.end()) return;
  throw std::invalid_argument(name + ": need finite numbers (a mask hides keys), got " + std::to_string(*wrong));
}

GivenTensor broadcast_to(const GivenTensor& tensor, const std::string& name, const Shape& shape) {
  GivenTensor result = tensor;
  result.strides = broadcast_strides(name, tensor.shape, tensor.strides, shape);
  result.shape = shape;
  return result;
}

std::vector<double> vector_of_heads(const GivenTensor* tensor, const std::string& name, std::int64_t heads,
                                    std::size_t first, std::size_t count) {
  if (tensor == nullptr) return {};
  require_shape(name, tensor->shape, Shape{heads});
  std::vector<double> values(count);
  decode_elements(*tensor, static_cast<std::int64_t>(first) * tensor->strides[0], tensor->strides[0], values);
  require_finite(name, values);
  return values;
}

}  // namespace softcheck::proptests
