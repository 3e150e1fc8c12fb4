#include "judge/results/tensor_shape.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace softcheck::proptests {
namespace {

constexpr std::size_t most_elements = std::size_t{1} << 48;

}  // namespace

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

std::size_t elements_of(std::span<const std::int64_t> shape, const std::string& name) {
  for (const std::int64_t size : shape) {
    if (size < 0) throw std::invalid_argument(name + ": need sizes >= 0, got shape " + shape_text(shape));
  }
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  std::size_t elements = 1;
  for (const std::int64_t size : shape) {
    if (static_cast<std::size_t>(size) > most_elements / elements) {
      throw std::invalid_argument(name + ": need at most 2^48 elements, got shape " + shape_text(shape));
    }
    elements *= static_cast<std::size_t>(size);
  }
  return elements;
}

Shape compact_strides(std::span<const std::int64_t> shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<std::int64_t>(shape[i], 1);
  return strides;
}

void require_shape(const std::string& name, std::span<const std::int64_t> got, std::span<const std::int64_t> need) {
  if (std::ranges::equal(got, need)) return;
  throw std::invalid_argument(name + ": need shape " + shape_text(need) + ", got " + shape_text(got));
}

Shape broadcast_strides(const std::string& name, std::span<const std::int64_t> shape,
                        std::span<const std::int64_t> strides, std::span<const std::int64_t> target) {
  Shape result(target.size(), 0);
  bool fits = shape.size() <= target.size();
  for (std::size_t k = 1; fits && k <= shape.size(); ++k) {
    const std::int64_t size = shape[shape.size() - k], wanted = target[target.size() - k];
    if (size == wanted) {
      result[target.size() - k] = strides[shape.size() - k];
    } else if (size != 1) {
      fits = false;
    }
  }
  if (!fits) {
    throw std::invalid_argument(name + ": need a shape that broadcasts to " + shape_text(target) + ", got " +
                                shape_text(shape));
  }
  return result;
}

RowWalk::RowWalk(Shape shape) : shape_(std::move(shape)), rows_(elements_of(shape_, "rows")) {}

std::vector<std::int64_t> RowWalk::index(std::size_t row) const {
  std::vector<std::int64_t> result(shape_.size());
  for (std::size_t d = shape_.size(); d-- > 0;) {
    const auto size = static_cast<std::size_t>(shape_[d]);
    result[d] = static_cast<std::int64_t>(row % size);
    row /= size;
  }
  return result;
}

std::int64_t RowWalk::offset(std::size_t row, std::span<const std::int64_t> strides) const {
  std::int64_t offset = 0;
  for (std::size_t d = shape_.size(); d-- > 0;) {
    const auto size = static_cast<std::size_t>(shape_[d]);
    offset += static_cast<std::int64_t>(row % size) * strides[d];
    row /= size;
  }
  return offset;
}

}  // namespace softcheck::proptests
