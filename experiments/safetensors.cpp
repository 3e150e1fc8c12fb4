#include "experiments/safetensors.hpp"

#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "experiments/trained_models.hpp"
#include "models/read/file_source.hpp"

namespace softcheck::experiments {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::size_t length_bytes = 8;
// A thousand times our largest network. A larger file is not one of ours, and is not read into memory.
constexpr std::uint64_t largest_data = std::uint64_t{1} << 30;

std::size_t bytes_of(std::string_view dtype) { return dtype == "BF16" ? 2 : 4; }

// A number of bf16 is the upper half of a float.
std::vector<float> widened(const std::vector<std::uint16_t>& halves) {
  std::vector<float> values;
  values.reserve(halves.size());
  for (const std::uint16_t half : halves) values.push_back(std::bit_cast<float>(std::uint32_t{half} << 16));
  return values;
}

std::vector<std::uint16_t> upper_halves(const std::vector<float>& values) {
  std::vector<std::uint16_t> halves;
  halves.reserve(values.size());
  for (const float value : values) {
    halves.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(nearest_bf16(value)) >> 16));
  }
  return halves;
}

TensorFile read_all(const models::ByteSource& source, const std::string& name, std::string_view dtype) {
  const models::SafetensorsHeader header = models::read_safetensors_header(source, name, dtype);
  if (header.data_size > largest_data) {
    throw models::TensorFileError(name + ": need at most " + std::to_string(largest_data) + " bytes of tensors, got " +
                                  std::to_string(header.data_size));
  }
  TensorFile file{{}, header.metadata};
  for (const models::SafetensorsEntry& entry : header.tensors) {
    Tensor tensor{entry.shape, {}};
    const std::size_t count = (entry.end - entry.begin) / bytes_of(dtype);
    // little-endian, as every machine that this is built for
    const auto read = [&](auto& numbers) {
      numbers.resize(count);
      if (!source.read(header.data_begin + entry.begin, std::as_writable_bytes(std::span(numbers)))) {
        throw models::TensorFileError(name + ": cannot be read");
      }
    };
    if (dtype == "BF16") {
      std::vector<std::uint16_t> halves;
      read(halves);
      tensor.values = widened(halves);
    } else {
      read(tensor.values);
    }
    file.tensors.emplace(entry.name, std::move(tensor));
  }
  return file;
}

std::string header_of(const TensorFile& file, std::string_view dtype) {
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
    const std::uint64_t end = offset + elements * bytes_of(dtype);
    header[name] = {{"dtype", dtype}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.append((length_bytes - text.size() % length_bytes) % length_bytes, ' ');  // data aligned for memory maps
  return text;
}

}  // namespace

TensorFile parse_safetensors(std::span<const std::byte> bytes, const std::string& name) {
  return read_all(models::bytes_at_hand(bytes), name, "F32");
}

TensorFile read_safetensors(const fs::path& path, std::string_view dtype) {
  return read_all(models::open_file_source(path), path.string(), dtype);
}

float nearest_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000);
}

std::string safetensors_bytes(const TensorFile& file, std::string_view dtype) {
  if (dtype != "F32" && dtype != "BF16") {
    throw std::invalid_argument("write_safetensors: need F32 or BF16, got " + std::string(dtype));
  }
  const std::string header = header_of(file, dtype);
  std::string bytes;
  std::uint64_t length = header.size();
  for (std::size_t i = 0; i < length_bytes; ++i, length >>= 8) bytes += static_cast<char>(length & 0xff);
  bytes += header;
  for (const auto& [name, tensor] : file.tensors) {
    const auto add = [&](const auto& numbers) {
      const auto stored = std::as_bytes(std::span(numbers));
      bytes.append(reinterpret_cast<const char*>(stored.data()), stored.size());
    };
    if (dtype == "BF16") {
      add(upper_halves(tensor.values));
    } else {
      add(tensor.values);
    }
  }
  return bytes;
}

void write_safetensors(const fs::path& path, const TensorFile& file, std::string_view dtype) {
  const std::string bytes = safetensors_bytes(file, dtype);
  // The rename below would replace a device by a file.
  std::error_code unknown;
  const fs::file_status status = fs::status(path, unknown);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw std::system_error(std::make_error_code(std::errc::invalid_argument),
                            "write_safetensors: need a regular file, got " + path.string());
  }
  const fs::path auxiliary = path.string() + ".partial";
  std::ofstream stream(auxiliary, std::ios::binary | std::ios::trunc);
  stream << bytes;
  stream.close();
  if (!stream) {
    const int error = errno;
    std::error_code ignored;
    fs::remove(auxiliary, ignored);
    throw std::system_error(error, std::generic_category(), "write_safetensors: " + path.string());
  }
  fs::rename(auxiliary, path);
}

}  // namespace softcheck::experiments
