#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "models/read/safetensors_header.hpp"
#include "proptests/tests/models/forward_inputs.hpp"

namespace softcheck::models {

/// A tensor of observed.safetensors: what a forward pass of transformers had (make_checkpoints.py).
struct ObservedTensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;

  /// By up to three indices.
  double at(std::int64_t i, std::int64_t j, std::int64_t k = 0) const {
    const std::int64_t last = shape.size() < 3 ? 1 : shape[2];
    return static_cast<double>(values.at(static_cast<std::size_t>((i * shape.at(1) + j) * last + k)));
  }
};

/// All of a folder's, by name: "input.0.layers.1.query".
inline std::map<std::string, ObservedTensor> read_observed(const std::filesystem::path& folder) {
  const std::string path = (folder / "observed.safetensors").string();
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const SafetensorsHeader header = read_safetensors_header(bytes_at_hand(std::as_bytes(std::span(bytes))), path, "F32");
  std::map<std::string, ObservedTensor> observed;
  for (const SafetensorsEntry& entry : header.tensors) {
    ObservedTensor& tensor = observed[entry.name];
    tensor.shape = entry.shape;
    tensor.values.resize((entry.end - entry.begin) / sizeof(float));
    std::memcpy(tensor.values.data(), bytes.data() + header.data_begin + entry.begin, entry.end - entry.begin);
  }
  return observed;
}

/// The folders with a checkpoint and what was observed in it, by name.
inline std::vector<std::filesystem::path> observed_folders() {
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(checkpoint_folder(""))) {
    if (std::filesystem::exists(entry.path() / "observed.safetensors")) folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  return folders;
}

}  // namespace softcheck::models
