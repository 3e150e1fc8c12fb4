#include "models/read/placed_tensors.hpp"

#include <stdexcept>

namespace softcheck::models {
namespace {

// Of a range that is not empty.
IndexRange blocks_of(const IndexRange& range, std::int64_t block) {
  const std::int64_t first = range.first / block;
  return {first, (range.first + range.count - 1) / block - first + 1};
}

}  // namespace

const StoredTensor* PlacedTensors::find(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : &found->second.tensor;
}

std::vector<std::string> PlacedTensors::names() const {
  std::vector<std::string> names;
  for (const auto& [name, place] : places_) names.push_back(name);
  return names;
}

const PlacedTensor& PlacedTensors::placed(const StoredTensor& tensor) const {
  const auto found = places_.find(tensor.name);
  if (found != places_.end()) return found->second;
  throw std::invalid_argument("Checkpoint::read: need a tensor of " + path() + ", got '" + tensor.name + "'");
}

TensorBlock PlacedTensors::read(const StoredTensor& tensor, IndexRange rows, IndexRange columns) const {
  const PlacedTensor& place = placed(tensor);
  TensorBlock block = read_tensor_block(place.bytes, place.tensor, rows, columns);
  if (!place.scale || block.values.size() == 0) return block;
  const StoredScale& scale = *place.scale;
  const IndexRange of_rows = blocks_of(rows, scale.block_rows), of_columns = blocks_of(columns, scale.block_columns);
  const Eigen::MatrixXd factors = read_tensor_block(scale.bytes, scale.tensor, of_rows, of_columns).values;
  for (std::int64_t j = 0; j < columns.count; ++j) {
    const std::int64_t column = (columns.first + j) / scale.block_columns - of_columns.first;
    for (std::int64_t i = 0; i < rows.count; ++i) {
      block.values(i, j) *= factors((rows.first + i) / scale.block_rows - of_rows.first, column);
    }
  }
  return block;
}

}  // namespace softcheck::models
