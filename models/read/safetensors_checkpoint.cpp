#include "models/read/safetensors_checkpoint.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "models/read/file_source.hpp"
#include "models/read/placed_tensors.hpp"
#include "models/read/strict_json.hpp"

namespace softcheck::models {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t largest_index = std::uint64_t{256} << 20;

void add_file(const fs::path& file, TensorPlaces& places) {
  const std::string name = file.string();
  const ByteSource source = open_file_source(file);
  const SafetensorsHeader header = read_safetensors_header(source, name);
  for (const SafetensorsEntry& entry : header.tensors) {
    PlacedTensor place{{entry.name, entry.dtype, entry.shape}, {source, name, header.data_begin + entry.begin}};
    if (!places.emplace(entry.name, std::move(place)).second) {
      throw TensorFileError(name + ": tensor '" + entry.name + "' stands in another shard, too");
    }
  }
}

// Every tensor of the index stands in its shard, and no shard has another.
TensorPlaces read_shards(const fs::path& folder, const fs::path& index) {
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
    // A name that leads out of the folder would have other files of the user read.
    if (!name.ends_with(".safetensors") || name.find_first_of(std::string_view("/\\\0", 3)) != name.npos) {
      throw TensorFileError(index.string() + ": '" + tensor + "': need a .safetensors file in the same folder, got '" +
                            name + "'");
    }
    file_of.emplace(tensor, name);
  }
  TensorPlaces places;
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

}  // namespace

std::unique_ptr<Checkpoint> open_safetensors(const fs::path& file, const fs::path& path, const Config& config) {
  TensorPlaces places;
  add_file(file, places);
  return std::make_unique<PlacedTensors>(path.string(), "safetensors", config, std::move(places));
}

std::unique_ptr<Checkpoint> open_shards(const fs::path& index, const fs::path& path, const Config& config) {
  return std::make_unique<PlacedTensors>(path.string(), "safetensors", config, read_shards(index.parent_path(), index));
}

}  // namespace softcheck::models
