#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "models/read/file_source.hpp"
#include "models/read/safetensors_header.hpp"
#include "proptests/tests/judge/tensor_file_writers.hpp"
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

/// The tensors of one checkpoint in a file of all, "NAME.input.0.layers.1.query", and their bytes.
class RecordedTensors {
 public:
  RecordedTensors(const std::string& file, const std::string& checkpoint)
      : bytes_(read_text_file(checkpoint_folder(file), std::uint64_t{1} << 26)),
        header_(read_safetensors_header(bytes_at_hand(std::as_bytes(std::span(bytes_))), file)) {
    std::erase_if(header_.tensors,
                  [&](const SafetensorsEntry& entry) { return !entry.name.starts_with(checkpoint + "."); });
    for (SafetensorsEntry& entry : header_.tensors) entry.name.erase(0, checkpoint.size() + 1);
  }

  const std::vector<SafetensorsEntry>& tensors() const { return header_.tensors; }
  std::string bytes_of(const SafetensorsEntry& entry) const {
    return bytes_.substr(header_.data_begin + entry.begin, entry.end - entry.begin);
  }

 private:
  std::string bytes_;
  SafetensorsHeader header_;
};

/// What the checkpoint of a folder has in observed.safetensors, by name: "input.0.layers.1.query".
inline std::map<std::string, ObservedTensor> read_observed(const std::filesystem::path& folder) {
  std::map<std::string, ObservedTensor> observed;
  const RecordedTensors recorded("observed.safetensors", folder.filename().string());
  for (const SafetensorsEntry& entry : recorded.tensors()) {
    ObservedTensor& tensor = observed[entry.name];
    const std::string bytes = recorded.bytes_of(entry);
    tensor.shape = entry.shape;
    tensor.values.resize(bytes.size() / sizeof(float));
    std::memcpy(tensor.values.data(), bytes.data(), bytes.size());
  }
  return observed;
}

/// A file of one checkpoint's tensors, as `softcheck model --activations` reads it; returns its path.
inline std::string write_activations(const proptests::TensorFolder& folder, const RecordedTensors& recorded) {
  nlohmann::ordered_json header;
  std::string data;
  for (const SafetensorsEntry& entry : recorded.tensors()) {
    const std::string bytes = recorded.bytes_of(entry);
    header[entry.name] = {
        {"dtype", entry.dtype}, {"shape", entry.shape}, {"data_offsets", {data.size(), data.size() + bytes.size()}}};
    data += bytes;
  }
  return folder.write("activations.safetensors", proptests::safetensors_file(header.dump(), data));
}

/// The folders of checkpoints that have something in observed.safetensors, by name.
inline std::vector<std::filesystem::path> observed_folders() {
  std::set<std::filesystem::path> folders;
  const std::string file = "observed.safetensors";
  const std::string bytes = read_text_file(checkpoint_folder(file), std::uint64_t{1} << 26);
  for (const SafetensorsEntry& entry :
       read_safetensors_header(bytes_at_hand(std::as_bytes(std::span(bytes))), file, "F32").tensors) {
    folders.insert(checkpoint_folder(entry.name.substr(0, entry.name.find('.'))));
  }
  return {folders.begin(), folders.end()};
}

}  // namespace softcheck::models
