#include "experiments/safetensors.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

namespace softcheck::experiments {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uint64_t largest_header = 100'000'000;  // the format's own limit
constexpr std::size_t length_bytes = 8;
// A thousand times our largest network. What is larger is none of ours, and is not taken into memory.
constexpr std::uint64_t largest_data = std::uint64_t{1} << 30;
// {"tensor": {"shape": [1]}}: the header, an entry, an array.
constexpr int deepest_nesting = 3;

// A file of which only the parts that are asked for are read.
struct Source {
  std::uint64_t size = 0;
  /// Bytes from first on; false where they cannot be read.
  std::function<bool(std::uint64_t first, std::span<std::byte> into)> read;
};

class Reader {
 public:
  Reader(const Source& source, const std::string& name) : source_(source), name_(name) {}

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
    require(source_.size >= length_bytes,
            "need a safetensors file of at least 8 bytes, got " + std::to_string(source_.size));
    std::byte length_field[length_bytes];
    read_part(0, length_field);
    std::uint64_t length = 0;
    for (std::size_t i = length_bytes; i-- > 0;) length = length << 8 | std::to_integer<std::uint64_t>(length_field[i]);
    const std::uint64_t rest = source_.size - length_bytes;
    require(length <= std::min<std::uint64_t>(largest_header, rest),
            "need a safetensors header of at most " + std::to_string(std::min<std::uint64_t>(largest_header, rest)) +
                " bytes, its length says " + std::to_string(length));
    std::string text(length, '\0');
    read_part(length_bytes, std::as_writable_bytes(std::span(text)));
    require(text.starts_with('{'), "need a JSON object as the safetensors header");
    data_begin_ = length_bytes + length;
    data_size_ = source_.size - data_begin_;
    return parse_without_repeats(text);
  }

  // JSON lets a key stand twice and keeps the last: two readers would see two different files.
  Json parse_without_repeats(const std::string& text) const {
    std::vector<std::set<std::string>> keys;
    std::string repeated;
    const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
      const bool opens = event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
      require(!opens || depth < deepest_nesting, "the safetensors header nests deeper than {tensor: {shape: []}}");
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
    require(place.begin <= place.end && place.end <= data_size_, what + "data_offsets " + offsets.dump() +
                                                                     " do not lie within the file's " +
                                                                     std::to_string(data_size_) + " bytes of data");
    const std::uint64_t room = place.end - place.begin;
    std::uint64_t bytes = sizeof(float);
    for (const Json& size : shape) {
      const auto dimension = size.get<std::uint64_t>();
      // No product can overflow: it is refused as soon as it exceeds what there is, unless a zero makes it nothing.
      require(dimension <= INT64_MAX, what + "a dimension is too large: " + shape.dump());
      place.shape.push_back(static_cast<std::int64_t>(dimension));
      if (bytes != 0 && dimension > data_size_ / bytes) fail(what + "shape " + shape.dump() + " exceeds the file");
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
    require(expected == data_size_, "the tensors end at byte " + std::to_string(expected) +
                                        " of the data, the file at " + std::to_string(data_size_));
    require(data_size_ <= largest_data,
            "need at most " + std::to_string(largest_data) + " bytes of tensors, got " + std::to_string(data_size_));
  }

  Tensor read_tensor(const Place& place) const {
    Tensor tensor{place.shape, std::vector<float>((place.end - place.begin) / sizeof(float))};
    // little-endian, as every machine that this is built for
    read_part(data_begin_ + place.begin, std::as_writable_bytes(std::span(tensor.values)));
    return tensor;
  }

  void read_part(std::uint64_t first, std::span<std::byte> into) const {
    require(source_.read(first, into), "cannot be read");
  }

  const Source& source_;
  std::uint64_t data_begin_ = 0;
  std::uint64_t data_size_ = 0;
  std::string name_;
  std::vector<Place> places_;
};

// A regular file, open for reading. Opening another kind does not wait for it: a pipe may never have a writer.
class OpenFile {
 public:
  explicit OpenFile(const fs::path& path) : descriptor_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    if (descriptor_ < 0) throw TensorFileError(path.string() + ": cannot be read: " + std::strerror(errno));
    if (fstat(descriptor_, &status_) == 0 && S_ISREG(status_.st_mode)) return;
    close(descriptor_);
    throw TensorFileError(path.string() + ": need a regular file, got a folder, a pipe or a device");
  }
  ~OpenFile() { close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  std::uint64_t size() const { return static_cast<std::uint64_t>(status_.st_size); }
  bool read(std::uint64_t first, std::span<std::byte> into) const {
    while (!into.empty()) {
      const ssize_t got = pread(descriptor_, into.data(), into.size(), static_cast<off_t>(first));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;  // the file has become shorter
      into = into.subspan(static_cast<std::size_t>(got));
      first += static_cast<std::uint64_t>(got);
    }
    return true;
  }

 private:
  int descriptor_;
  struct stat status_ {};
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
  const Source source{bytes.size(), [bytes](std::uint64_t first, std::span<std::byte> into) {
                        if (!into.empty()) std::memcpy(into.data(), bytes.data() + first, into.size());
                        return true;
                      }};
  return Reader(source, name).read();
}

TensorFile read_safetensors(const fs::path& path) {
  const OpenFile file(path);
  const Source source{file.size(),
                      [&](std::uint64_t first, std::span<std::byte> into) { return file.read(first, into); }};
  return Reader(source, path.string()).read();
}

void write_safetensors(const fs::path& path, const TensorFile& file) {
  const std::string header = header_of(file);
  // The rename below would put a file in a device's place.
  std::error_code unknown;
  const fs::file_status status = fs::status(path, unknown);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw std::system_error(std::make_error_code(std::errc::invalid_argument),
                            "write_safetensors: need a regular file, got " + path.string());
  }
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
