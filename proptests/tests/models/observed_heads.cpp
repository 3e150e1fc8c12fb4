#include "proptests/tests/models/observed_heads.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "models/read/safetensors_header.hpp"

namespace softcheck::models {

double ObservedTensor::at(std::int64_t i, std::int64_t j, std::int64_t k) const {
  const std::int64_t last = shape.size() < 3 ? 1 : shape[2];
  return static_cast<double>(values.at(static_cast<std::size_t>((i * shape.at(1) + j) * last + k)));
}

std::map<std::string, ObservedTensor> read_observed(const std::filesystem::path& folder) {
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

std::vector<std::filesystem::path> observed_folders() {
  std::vector<std::filesystem::path> folders;
  const std::filesystem::path root = SOFTCHECK_SOURCE_DIR "/proptests/tests/models/checkpoints";
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (std::filesystem::exists(entry.path() / "observed.safetensors")) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

}  // namespace softcheck::models
