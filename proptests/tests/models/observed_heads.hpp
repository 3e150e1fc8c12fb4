#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace softcheck::models {

/// A tensor of observed.safetensors: what a forward pass of transformers had (make_checkpoints.py).
struct ObservedTensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;

  /// By up to three indices.
  double at(std::int64_t i, std::int64_t j, std::int64_t k = 0) const;
};

/// All of a folder's, by name: "input.0.layers.1.query".
std::map<std::string, ObservedTensor> read_observed(const std::filesystem::path& folder);

/// The folders with a checkpoint and what was observed in it, by name.
std::vector<std::filesystem::path> observed_folders();

}  // namespace softcheck::models
