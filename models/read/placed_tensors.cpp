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

const PlacedTensor& PlacedTensors::placed(const StoredTensor& tensor) const {
  const auto found = places_.find(tensor.name);
  if (found != places_.end()) return found->second;
  throw std::invalid_argument("Checkpoint::read: need a tensor of " + path() + ", got '" + tensor.name + "'");
}

TensorBlock PlacedTensors::read(const StoredTensor& tensor, IndexRange rows, IndexRange columns) const {
  const PlacedTensor& place = placed(tensor);
  return read_tensor_block(place.bytes, place.tensor, rows, columns);
}

}  // namespace softcheck::models
