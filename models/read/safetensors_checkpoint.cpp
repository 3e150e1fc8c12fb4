#include "models/read/safetensors_checkpoint.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "models/read/file_source.hpp"
#include "models/read/strict_json.hpp"
#include "models/read/tensor_reader.hpp"

namespace softcheck::models {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t largest_config = std::uint64_t{16} << 20, largest_index = std::uint64_t{256} << 20;

struct Place {
  StoredTensor tensor;
  TensorBytes bytes;
};

class SafetensorsCheckpoint final : public Checkpoint {
 public:
  SafetensorsCheckpoint(std::string path, Config config, std::map<std::string, Place, std::less<>> tensors)
      : Checkpoint(std::move(path), "safetensors", std::move(config)), tensors_(std::move(tensors)) {}

  const StoredTensor* find(std::string_view name) const override {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second.tensor;
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> result;
    for (const auto& [name, unused] : tensors_) result.push_back(name);
    return result;
  }
  TensorBlock read(const StoredTensor& tensor, IndexRange rows, IndexRange columns) const override {
    const auto found = tensors_.find(tensor.name);
    if (found == tensors_.end()) throw std::invalid_argument(path() + ": no tensor '" + tensor.name + "'");
    return read_tensor_block(found->second.bytes, found->second.tensor, rows, columns);
  }

 private:
  std::map<std::string, Place, std::less<>> tensors_;
};

using Places = std::map<std::string, Place, std::less<>>;

void add_file(const fs::path& file, Places& places) {
  const std::string name = file.string();
  const ByteSource source = open_file_source(file);
  const SafetensorsHeader header = read_safetensors_header(source, name);
  for (const SafetensorsEntry& entry : header.tensors) {
    Place place{{entry.name, entry.dtype, entry.shape}, {source, name, header.data_begin + entry.begin}};
    if (!places.emplace(entry.name, std::move(place)).second) {
      throw TensorFileError(name + ": tensor '" + entry.name + "' stands in another shard, too");
    }
  }
}

// Every tensor of the index stands in its shard, and no shard has another.
Places read_shards(const fs::path& folder, const fs::path& index) {
  const nlohmann::json root =
      parse_strict_object(read_text_file(index, largest_index), index.string() + ": the index", 8);
  const auto map = root.find("weight_map");
  if (map == root.end() || !map->is_object() || map->empty()) {
    throw TensorFileError(index.string() + ": need a 'weight_map' from tensors to files");
  }
  std::map<std::string, std::string> file_of;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string()) throw TensorFileError(index.string() + ": '" + tensor + "': need the name of a file");
    const auto name = file.get<std::string>();
    if (name.empty() || name.find('/') != std::string::npos || name.find('\0') != std::string::npos || name == "..") {
      throw TensorFileError(index.string() + ": '" + tensor + "': need a file in the same folder, got '" + name + "'");
    }
    file_of.emplace(tensor, name);
  }
  Places places;
  std::map<std::string, bool> read;
  for (const auto& [tensor, file] : file_of) {
    if (!read.emplace(file, true).second) continue;
    add_file(folder / file, places);
  }
  for (const auto& [tensor, file] : file_of) {
    const auto found = places.find(tensor);
    if (found == places.end() || found->second.bytes.file != (folder / file).string()) {
      throw TensorFileError(index.string() + ": tensor '" + tensor + "' does not stand in " + file);
    }
  }
  if (places.size() != file_of.size()) {
    for (const auto& [tensor, place] : places) {
      if (!file_of.contains(tensor)) {
        throw TensorFileError(place.bytes.file + ": tensor '" + tensor + "' is not in the index");
      }
    }
  }
  return places;
}

Config read_config(const fs::path& folder) {
  const fs::path file = folder / "config.json";
  std::error_code error;
  if (!fs::exists(file, error)) {
    throw MissingTensorFile(folder.string() + ": need config.json beside the tensors, it is not there");
  }
  Config config = Config::parse(read_text_file(file, largest_config), file.string());
  if (config.has("quantization_config")) {
    throw UnsupportedTensorFile(file.string() + ": 'quantization_config': quantised tensors are not read");
  }
  return config;
}

}  // namespace

std::unique_ptr<Checkpoint> open_safetensors_folder(const fs::path& folder) {
  std::error_code error;
  const fs::path single = folder / "model.safetensors", index = folder / "model.safetensors.index.json";
  if (fs::exists(folder / "adapter_config.json", error)) {
    throw UnsupportedTensorFile(folder.string() +
                                ": adapter_config.json: an adapter changes the model; merge it first");
  }
  Places places;
  if (fs::exists(single, error)) {
    add_file(single, places);
  } else if (fs::exists(index, error)) {
    places = read_shards(folder, index);
  } else {
    for (const char* other :
         {"pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5", "flax_model.msgpack"}) {
      if (fs::exists(folder / other, error)) {
        throw UnsupportedTensorFile(folder.string() + ": need safetensors, got " + other);
      }
    }
    throw MissingTensorFile(folder.string() + ": need model.safetensors or model.safetensors.index.json in it");
  }
  return std::make_unique<SafetensorsCheckpoint>(folder.string(), read_config(folder), std::move(places));
}

std::unique_ptr<Checkpoint> open_safetensors_file(const fs::path& file) {
  Places places;
  add_file(file, places);
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  return std::make_unique<SafetensorsCheckpoint>(file.string(), read_config(folder), std::move(places));
}

}  // namespace softcheck::models
