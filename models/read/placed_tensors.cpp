#include "models/read/placed_tensors.hpp"

#include <stdexcept>

namespace softcheck::models {

const StoredTensor* PlacedTensors::find(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : &found->second.tensor;
}

std::vector<std::string> PlacedTensors::names() const {
  std::vector<std::string> names;
  for (const auto& [name, place] : places_) names.push_back(name);
  return names;
}

TensorBlock PlacedTensors::read(const StoredTensor& tensor, IndexRange rows, IndexRange columns) const {
  const auto found = places_.find(tensor.name);
  if (found == places_.end()) {
    throw std::invalid_argument("Checkpoint::read: need a tensor of " + path() + ", got '" + tensor.name + "'");
  }
  return read_tensor_block(found->second.bytes, found->second.tensor, rows, columns);
}

}  // namespace softcheck::models
