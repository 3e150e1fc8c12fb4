#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/read/config.hpp"
#include "models/read/file_errors.hpp"

namespace softcheck::models {

/// A matrix or vector of a checkpoint, not yet read.
struct StoredTensor {
  std::string name;
  std::string dtype;                // as the file has it: "BF16", "Q4_K"
  std::vector<std::int64_t> shape;  // slowest dimension first, as PyTorch prints it; GGUF's is turned round

  std::int64_t rows() const { return shape.size() < 2 ? 1 : shape[0]; }
  std::int64_t columns() const { return shape.empty() ? 1 : shape.back(); }
};

/// Indices first ... first + count - 1.
struct IndexRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Numbers of a stored tensor.
struct TensorBlock {
  Eigen::MatrixXd values;
  double radius = 0;  // every stored number lies within this of its value here; 0: a double holds each of every dtype
};

/// A trained model at rest. Tensors are read a block at a time: no file is in memory as a whole.
class Checkpoint {
 public:
  virtual ~Checkpoint() = default;

  const std::string& path() const { return path_; }
  /// "safetensors" or "gguf".
  const std::string& format() const { return format_; }
  const Config& config() const { return config_; }
  /// nullptr where there is none of that name.
  virtual const StoredTensor* find(std::string_view name) const = 0;
  virtual std::vector<std::string> names() const = 0;
  /// The entries at rows x columns of a matrix; a vector is one row, and the matrices of a tensor of three dimensions
  /// are one below the other.
  ///
  /// throws   TensorFileError where an entry is infinite or NaN, the file ends early or cannot be read;
  ///          UnsupportedTensorFile where the dtype is not one of element_format_names(); std::invalid_argument where
  ///          rows or columns lie outside
  virtual TensorBlock read(const StoredTensor& tensor, IndexRange rows, IndexRange columns) const = 0;
  /// Whether read() has applied all that the configuration's quantization_config says of the weights.
  virtual bool applies_quantisation() const { return false; }

 protected:
  Checkpoint(std::string path, std::string format, Config config)
      : path_(std::move(path)), format_(std::move(format)), config_(std::move(config)) {}

 private:
  std::string path_, format_;
  Config config_;
};

/// Opens a folder with config.json and model.safetensors (or the shards of model.safetensors.index.json), one
/// .safetensors file with config.json beside it, or one .gguf file.
///
/// throws   MissingTensorFile where path, config.json or a shard is not there; TensorFileError where a file is damaged;
///          UnsupportedTensorFile where it is sound and not read: a split GGUF, a LoRA adapter, a folder of .bin files
std::unique_ptr<Checkpoint> open_checkpoint(const std::filesystem::path& path);

}  // namespace softcheck::models
