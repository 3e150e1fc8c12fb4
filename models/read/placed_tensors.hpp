#pragma once

#include <functional>
#include <map>
#include <string>

#include "models/read/checkpoint.hpp"
#include "models/read/tensor_reader.hpp"

namespace softcheck::models {

/// A tensor and where its bytes are.
struct PlacedTensor {
  StoredTensor tensor;
  TensorBytes bytes;
};

using TensorPlaces = std::map<std::string, PlacedTensor, std::less<>>;

/// A checkpoint whose tensors are known to stand where they are said to.
class PlacedTensors final : public Checkpoint {
 public:
  PlacedTensors(std::string path, std::string format, Config config, TensorPlaces places)
      : Checkpoint(std::move(path), std::move(format), std::move(config)), places_(std::move(places)) {}

  const StoredTensor* find(std::string_view name) const override;
  std::vector<std::string> names() const override;
  TensorBlock read(const StoredTensor& tensor, IndexRange rows, IndexRange columns) const override;
  /// Where the bytes of a tensor of this checkpoint are.
  ///
  /// throws   std::invalid_argument where it has no such tensor
  const PlacedTensor& placed(const StoredTensor& tensor) const;

 private:
  TensorPlaces places_;
};

}  // namespace softcheck::models
