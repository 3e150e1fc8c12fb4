#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "models/read/checkpoint.hpp"
#include "models/read/tensor_reader.hpp"

namespace softcheck::models {

/// Factors of a matrix, one for so many rows and columns of it.
struct StoredScale {
  StoredTensor tensor;  // (blocks of rows, blocks of columns)
  TensorBytes bytes;
  std::int64_t block_rows = 1;
  std::int64_t block_columns = 1;
};

/// A tensor and where its bytes are.
struct PlacedTensor {
  StoredTensor tensor;
  TensorBytes bytes;
  std::shared_ptr<const StoredScale> scale = {};  // none: its numbers are those that are stored
};

using TensorPlaces = std::map<std::string, PlacedTensor, std::less<>>;

/// A checkpoint whose tensors are known to stand where they are said to.
class PlacedTensors final : public Checkpoint {
 public:
  /// quantised   whether the places have the scales that the configuration speaks of
  PlacedTensors(std::string path, std::string format, Config config, TensorPlaces places, bool quantised = false)
      : Checkpoint(std::move(path), std::move(format), std::move(config)),
        places_(std::move(places)),
        quantised_(quantised) {}

  const StoredTensor* find(std::string_view name) const override;
  std::vector<std::string> names() const override;
  TensorBlock read(const StoredTensor& tensor, IndexRange rows, IndexRange columns) const override;
  bool applies_quantisation() const override { return quantised_; }
  /// Where the bytes of a tensor of this checkpoint are.
  ///
  /// throws   std::invalid_argument where it has no such tensor
  const PlacedTensor& placed(const StoredTensor& tensor) const;

 private:
  TensorPlaces places_;
  bool quantised_;
};

}  // namespace softcheck::models
