#include "judge/results/score_terms.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "judge/results/tensor_elements.hpp"

namespace softcheck::proptests {

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
