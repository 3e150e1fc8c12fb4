#include "models/read/safetensors_header.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "models/read/file_source.hpp"
#include "models/read/placed_tensors.hpp"
#include "models/read/stored_scales.hpp"
#include "models/read/strict_json.hpp"

namespace softcheck::models {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t largest_header = 100'000'000;  // the format's own limit
constexpr std::size_t length_field_bytes = 8;
// {"tensor": {"shape": [1]}}: the header, an entry, an array.
constexpr int deepest_nesting = 3;

struct DtypeSize {
  std::string_view name;
  std::uint64_t bits;
};

constexpr std::array<DtypeSize, 22> dtype_sizes{
    {{"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"BOOL", 8},        {"U8", 8},          {"I8", 8},
     {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"U16", 16},
     {"I16", 16},    {"F16", 16},    {"BF16", 16},   {"U32", 32},        {"I32", 32},        {"F32", 32},
     {"U64", 64},    {"I64", 64},    {"F64", 64},    {"C64", 64}}};

class HeaderReader {
 public:
  HeaderReader(const ByteSource& source, const std::string& name, std::string_view dtype)
      : source_(source), name_(name), only_dtype_(dtype) {}

  SafetensorsHeader read() {
    const Json header = parse_header();
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") {
        read_metadata(entry);
      } else {
        result_.tensors.push_back(read_entry(name, entry));
      }
    }
    require_full_cover();
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw TensorFileError(name_ + ": " + what); }
  void require(bool holds, const std::string& what) const {
    if (!holds) fail(what);
  }

  Json parse_header() {
    require(source_.size >= length_field_bytes,
            "need a safetensors file of at least 8 bytes, got " + std::to_string(source_.size));
    std::byte length_field[length_field_bytes];
    read_part(0, length_field);
    std::uint64_t length = 0;
    for (std::size_t i = length_field_bytes; i-- > 0;)
      length = length << 8 | std::to_integer<std::uint64_t>(length_field[i]);
    const std::uint64_t rest = source_.size - length_field_bytes;
    require(length <= std::min<std::uint64_t>(largest_header, rest),
            "need a safetensors header of at most " + std::to_string(std::min<std::uint64_t>(largest_header, rest)) +
                " bytes, its length says " + std::to_string(length));
    std::string text(length, '\0');
    read_part(length_field_bytes, std::as_writable_bytes(std::span(text)));
    require(text.starts_with('{'), "need a JSON object as the safetensors header");
    result_.data_begin = length_field_bytes + length;
    result_.data_size = source_.size - result_.data_begin;
    return parse_strict_object(text, name_ + ": the safetensors header", deepest_nesting);
  }

  void read_metadata(const Json& entry) {
    require(entry.is_object(), "__metadata__ must be an object of texts");
    for (const auto& [key, text] : entry.items()) {
      require(text.is_string(), "__metadata__: '" + key + "' must be a text");
      result_.metadata.emplace(key, text.get<std::string>());
    }
  }

  SafetensorsEntry read_entry(const std::string& name, const Json& entry) const {
    const std::string what = "tensor '" + name + "': ";
    require(entry.is_object() && entry.size() == 3 && entry.contains("dtype") && entry.contains("shape") &&
                entry.contains("data_offsets"),
            what + "need dtype, shape and data_offsets");
    const Json &dtype = entry["dtype"], &shape = entry["shape"], &offsets = entry["data_offsets"];
    std::uint64_t bits = bits_of(dtype, what);
    const auto unsigned_array = [](const Json& value) {
      return value.is_array() && std::ranges::all_of(value, [](const Json& v) { return v.is_number_unsigned(); });
    };
    require(unsigned_array(shape), what + "need a shape of non-negative integers, got " + shape.dump());
    require(unsigned_array(offsets) && offsets.size() == 2,
            what + "need two non-negative data_offsets, got " + offsets.dump());
    SafetensorsEntry place{
        name, dtype.get<std::string>(), {}, offsets[0].get<std::uint64_t>(), offsets[1].get<std::uint64_t>()};
    require(place.begin <= place.end && place.end <= result_.data_size,
            what + "data_offsets " + offsets.dump() + " do not lie within the file's " +
                std::to_string(result_.data_size) + " bytes of data");
    const std::uint64_t room = place.end - place.begin;
    const std::uint64_t most = 8 * result_.data_size;  // no file is so large that this overflows
    for (const Json& size : shape) {
      const auto dimension = size.get<std::uint64_t>();
      // No product can overflow: it is refused as soon as it exceeds what there is, unless a zero makes it nothing.
      require(dimension <= INT64_MAX, what + "a dimension is too large: " + shape.dump());
      place.shape.push_back(static_cast<std::int64_t>(dimension));
      if (bits != 0 && dimension > most / bits) fail(what + "shape " + shape.dump() + " exceeds the file");
      bits *= dimension;
    }
    require(bits % 8 == 0, what + "shape " + shape.dump() + " does not fill whole bytes");
    require(bits / 8 == room, what + "shape " + shape.dump() + " needs " + std::to_string(bits / 8) +
                                  " bytes, data_offsets hold " + std::to_string(room));
    return place;
  }

  void require_full_cover() {
    std::ranges::sort(result_.tensors, [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    std::uint64_t expected = 0;
    for (const SafetensorsEntry& place : result_.tensors) {
      require(place.begin == expected, "tensor '" + place.name + "' begins at byte " + std::to_string(place.begin) +
                                           " of the data, the one before it ends at " + std::to_string(expected));
      expected = place.end;
    }
    require(expected == result_.data_size, "the tensors end at byte " + std::to_string(expected) +
                                               " of the data, the file at " + std::to_string(result_.data_size));
  }

  std::uint64_t bits_of(const Json& dtype, const std::string& what) const {
    std::string known;
    for (const auto& [name, bits] : dtype_sizes) {
      if (!only_dtype_.empty() && name != only_dtype_) continue;
      if (dtype == name) return bits;
      known += (known.empty() ? "\"" : ", \"") + std::string(name) + "\"";
    }
    fail(what + "need dtype " + known + ", got " + dtype.dump());
  }

  void read_part(std::uint64_t first, std::span<std::byte> into) const {
    require(source_.read(first, into), "cannot be read");
  }

  const ByteSource& source_;
  std::string name_;
  std::string_view only_dtype_;
  SafetensorsHeader result_;
};

namespace fs = std::filesystem;

constexpr std::uint64_t largest_index = std::uint64_t{256} << 20;

void add_file(const fs::path& file, TensorPlaces& places) {
  const std::string name = file.string();
  const ByteSource source = open_file_source(file);
  const SafetensorsHeader header = read_safetensors_header(source, name);
  for (const SafetensorsEntry& entry : header.tensors) {
    PlacedTensor place{{entry.name, entry.dtype, entry.shape}, {source, name, header.data_begin + entry.begin}, {}};
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

ByteSource bytes_at_hand(std::span<const std::byte> bytes) {
  return {bytes.size(), [bytes](std::uint64_t first, std::span<std::byte> into) {
            if (!into.empty()) std::memcpy(into.data(), bytes.data() + first, into.size());
            return true;
          }};
}

SafetensorsHeader read_safetensors_header(const ByteSource& source, const std::string& name, std::string_view dtype) {
  return HeaderReader(source, name, dtype).read();
}

std::unique_ptr<Checkpoint> open_safetensors(const fs::path& file, const fs::path& path, const Config& config) {
  TensorPlaces places;
  add_file(file, places);
  const bool quantised = attach_scales(config, places);
  return std::make_unique<PlacedTensors>(path.string(), "safetensors", config, std::move(places), quantised);
}

std::unique_ptr<Checkpoint> open_shards(const fs::path& index, const fs::path& path, const Config& config) {
  TensorPlaces places = read_shards(index.parent_path(), index);
  const bool quantised = attach_scales(config, places);
  return std::make_unique<PlacedTensors>(path.string(), "safetensors", config, std::move(places), quantised);
}

}  // namespace softcheck::models
