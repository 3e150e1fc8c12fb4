#include "experiments/safetensors.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

namespace softcheck::experiments {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uint64_t largest_header = 100'000'000;  // the format's own limit
constexpr std::size_t length_bytes = 8;

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  TensorFile read() {
    const Json header = parse_header();
    TensorFile file;
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") {
        read_metadata(entry, file);
      } else {
        places_.push_back(read_place(name, entry));
      }
    }
    require_full_cover();
    for (const Place& place : places_) file.tensors.emplace(place.name, read_tensor(place));
    return file;
  }

 private:
  struct Place {
    std::string name;
    std::vector<std::int64_t> shape;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  [[noreturn]] void fail(const std::string& what) const { throw TensorFileError(name_ + ": " + what); }
  void require(bool holds, const std::string& what) const {
    if (!holds) fail(what);
  }

  Json parse_header() {
    require(bytes_.size() >= length_bytes,
            "need a safetensors file of at least 8 bytes, got " + std::to_string(bytes_.size()));
    std::uint64_t length = 0;
    for (std::size_t i = length_bytes; i-- > 0;) length = length << 8 | std::to_integer<std::uint64_t>(bytes_[i]);
    const std::size_t rest = bytes_.size() - length_bytes;
    require(length <= std::min<std::uint64_t>(largest_header, rest),
            "need a safetensors header of at most " + std::to_string(std::min<std::uint64_t>(largest_header, rest)) +
                " bytes, its length says " + std::to_string(length));
    const std::string text(reinterpret_cast<const char*>(bytes_.data()) + length_bytes, length);
    require(text.starts_with('{'), "need a JSON object as the safetensors header");
    data_ = bytes_.subspan(length_bytes + length);
    return parse_without_repeats(text);
  }

  // JSON lets a key stand twice and keeps the last: two readers would see two different files.
  Json parse_without_repeats(const std::string& text) const {
    std::vector<std::set<std::string>> keys;
    std::string repeated;
    const auto watch = [&](int, Json::parse_event_t event, Json& value) {
      if (event == Json::parse_event_t::object_start) keys.emplace_back();
      if (event == Json::parse_event_t::object_end) keys.pop_back();
      if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second) {
        repeated = value.get<std::string>();
      }
      return true;
    };
    Json header;
    try {
      header = Json::parse(text, watch);
    } catch (const Json::exception& error) {
      fail(std::string("the safetensors header is no JSON: ") + error.what());
    }
    require(repeated.empty(), "the safetensors header has the key '" + repeated + "' twice");
    return header;
  }

  void read_metadata(const Json& entry, TensorFile& file) const {
    require(entry.is_object(), "__metadata__ must be an object of texts");
    for (const auto& [key, text] : entry.items()) {
      require(text.is_string(), "__metadata__: '" + key + "' must be a text");
      file.metadata.emplace(key, text.get<std::string>());
    }
  }

  Place read_place(const std::string& name, const Json& entry) const {
    const std::string what = "tensor '" + name + "': ";
    require(entry.is_object() && entry.size() == 3 && entry.contains("dtype") && entry.contains("shape") &&
                entry.contains("data_offsets"),
            what + "need dtype, shape and data_offsets");
    const Json &dtype = entry["dtype"], &shape = entry["shape"], &offsets = entry["data_offsets"];
    require(dtype == "F32", what + "need dtype \"F32\", got " + dtype.dump());
    const auto unsigned_array = [](const Json& value) {
      return value.is_array() && std::ranges::all_of(value, [](const Json& v) { return v.is_number_unsigned(); });
    };
    require(unsigned_array(shape), what + "need a shape of non-negative integers, got " + shape.dump());
    require(unsigned_array(offsets) && offsets.size() == 2,
            what + "need two non-negative data_offsets, got " + offsets.dump());
    Place place{name, {}, offsets[0].get<std::uint64_t>(), offsets[1].get<std::uint64_t>()};
    require(place.begin <= place.end && place.end <= data_.size(), what + "data_offsets " + offsets.dump() +
                                                                       " do not lie within the file's " +
                                                                       std::to_string(data_.size()) + " bytes of data");
    const std::uint64_t room = place.end - place.begin;
    std::uint64_t bytes = sizeof(float);
    for (const Json& size : shape) {
      const auto dimension = size.get<std::uint64_t>();
      // No product can overflow: it is refused as soon as it exceeds what there is, unless a zero makes it nothing.
      require(dimension <= INT64_MAX, what + "a dimension is too large: " + shape.dump());
      place.shape.push_back(static_cast<std::int64_t>(dimension));
      if (bytes != 0 && dimension > data_.size() / bytes) fail(what + "shape " + shape.dump() + " exceeds the file");
      bytes *= dimension;
    }
    require(bytes == room, what + "shape " + shape.dump() + " needs " + std::to_string(bytes) +
                               " bytes, data_offsets hold " + std::to_string(room));
    return place;
  }

  void require_full_cover() {
    std::ranges::sort(
        places_, [](const Place& a, const Place& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
    std::uint64_t expected = 0;
    for (const Place& place : places_) {
      require(place.begin == expected, "tensor '" + place.name + "' begins at byte " + std::to_string(place.begin) +
                                           " of the data, the one before it ends at " + std::to_string(expected));
      expected = place.end;
    }
    require(expected == data_.size(), "the tensors end at byte " + std::to_string(expected) +
                                          " of the data, the file at " + std::to_string(data_.size()));
  }

  Tensor read_tensor(const Place& place) const {
    Tensor tensor{place.shape, std::vector<float>((place.end - place.begin) / sizeof(float))};
    // little-endian, as every machine that this is built for
    if (!tensor.values.empty()) std::memcpy(tensor.values.data(), data_.data() + place.begin, place.end - place.begin);
    return tensor;
  }

  std::span<const std::byte> bytes_;
  std::span<const std::byte> data_;
  std::string name_;
  std::vector<Place> places_;
};

std::string header_of(const TensorFile& file) {
  Json header = Json::object();
  if (!file.metadata.empty()) header["__metadata__"] = file.metadata;
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : file.tensors) {
    std::uint64_t elements = 1;
    for (std::int64_t size : tensor.shape) elements *= static_cast<std::uint64_t>(size);
    if (elements != tensor.values.size()) {
      throw std::invalid_argument("write_safetensors: tensor '" + name + "' needs " + std::to_string(elements) +
                                  " values, got " + std::to_string(tensor.values.size()));
    }
    const std::uint64_t end = offset + elements * sizeof(float);
    header[name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.append((length_bytes - text.size() % length_bytes) % length_bytes, ' ');  // data aligned for memory maps
  return text;
}

}  // namespace

TensorFile parse_safetensors(std::span<const std::byte> bytes, const std::string& name) {
  return Reader(bytes, name).read();
}

TensorFile read_safetensors(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  if (!stream || fs::is_directory(path)) throw TensorFileError(path.string() + ": cannot be read");
  std::vector<std::byte> bytes(static_cast<std::size_t>(stream.tellg()));
  stream.seekg(0);
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!stream) throw TensorFileError(path.string() + ": cannot be read");
  return parse_safetensors(bytes, path.string());
}

void write_safetensors(const fs::path& path, const TensorFile& file) {
  const std::string header = header_of(file);
  const fs::path beside = path.string() + ".partial";
  std::ofstream stream(beside, std::ios::binary | std::ios::trunc);
  std::uint64_t length = header.size();
  for (std::size_t i = 0; i < length_bytes; ++i, length >>= 8) stream.put(static_cast<char>(length & 0xff));
  stream << header;
  for (const auto& [name, tensor] : file.tensors) {
    stream.write(reinterpret_cast<const char*>(tensor.values.data()),
                 static_cast<std::streamsize>(tensor.values.size() * sizeof(float)));
  }
  stream.close();
  if (!stream) {
    const int error = errno;
    std::error_code ignored;
    fs::remove(beside, ignored);
    throw std::system_error(error, std::generic_category(), "write_safetensors: " + path.string());
  }
  fs::rename(beside, path);
}

}  // namespace softcheck::experiments
