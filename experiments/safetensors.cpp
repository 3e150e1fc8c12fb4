#include "experiments/safetensors.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "models/read/file_source.hpp"

namespace softcheck::experiments {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::size_t length_bytes = 8;
// A thousand times our largest network. What is larger is none of ours, and is not taken into memory.
constexpr std::uint64_t largest_data = std::uint64_t{1} << 30;

TensorFile read_all(const models::ByteSource& source, const std::string& name) {
  const models::SafetensorsHeader header = models::read_safetensors_header(source, name, "F32");
  if (header.data_size > largest_data) {
    throw models::TensorFileError(name + ": need at most " + std::to_string(largest_data) + " bytes of tensors, got " +
                                  std::to_string(header.data_size));
  }
  TensorFile file{{}, header.metadata};
  for (const models::SafetensorsEntry& entry : header.tensors) {
    Tensor tensor{entry.shape, std::vector<float>((entry.end - entry.begin) / sizeof(float))};
    // little-endian, as every machine that this is built for
    if (!source.read(header.data_begin + entry.begin, std::as_writable_bytes(std::span(tensor.values)))) {
      throw models::TensorFileError(name + ": cannot be read");
    }
    file.tensors.emplace(entry.name, std::move(tensor));
  }
  return file;
}

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
  return read_all(models::bytes_at_hand(bytes), name);
}

TensorFile read_safetensors(const fs::path& path) { return read_all(models::open_file_source(path), path.string()); }

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
