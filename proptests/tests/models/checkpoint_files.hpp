#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proptests/tests/judge/tensor_file_writers.hpp"

// Writers of checkpoints for tests: small ones of our own, so that a test can write wrong files too.
namespace softcheck::proptests {

struct FileTensor {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;  // as StoredTensor has it
  std::string bytes;
};

/// A safetensors file of tensors one behind the other.
inline std::string safetensors_of(const std::vector<FileTensor>& tensors) {
  std::string header = "{", data;
  for (const FileTensor& tensor : tensors) {
    std::string shape;
    for (const std::uint64_t size : tensor.shape) shape += (shape.empty() ? "" : ",") + std::to_string(size);
    header += (header == "{" ? "\"" : ",\"") + tensor.name + R"(":{"dtype":")" + tensor.dtype + R"(","shape":[)" +
              shape + R"(],"data_offsets":[)" + std::to_string(data.size()) + "," +
              std::to_string(data.size() + tensor.bytes.size()) + "]}";
    data += tensor.bytes;
  }
  return safetensors_file(header + "}", data);
}

inline std::string gguf_text(std::string_view text) { return little_endian(text.size(), 8) + std::string(text); }

/// A GGUF file a part at a time.
struct GgufFile {
  static constexpr unsigned u32 = 4, f32 = 6, boolean = 7, text = 8, array = 9, u64 = 10;

  std::uint32_t version = 3;
  std::uint64_t alignment = 32;
  std::uint64_t keys = 0, tensors = 0;
  std::string key_bytes, tensor_bytes, data;

  void key(std::string_view name, unsigned type, std::string_view bytes) {
    ++keys;
    key_bytes += gguf_text(name) + little_endian(type, 4) + std::string(bytes);
  }
  /// shape    as StoredTensor has it
  void tensor(std::string_view name, unsigned type, std::vector<std::uint64_t> shape, std::string_view bytes) {
    entry(name, type, shape, data.size());
    data += std::string(bytes);
    data.resize((data.size() + alignment - 1) / alignment * alignment);
  }
  void entry(std::string_view name, unsigned type, std::vector<std::uint64_t> shape, std::uint64_t offset) {
    ++tensors;
    tensor_bytes += gguf_text(name) + little_endian(shape.size(), 4);
    while (!shape.empty()) {
      tensor_bytes += little_endian(shape.back(), 8);
      shape.pop_back();
    }
    tensor_bytes += little_endian(type, 4) + little_endian(offset, 8);
  }
  std::string bytes() const {
    std::string all = "GGUF" + little_endian(version, 4) + little_endian(tensors, 8) + little_endian(keys, 8) +
                      key_bytes + tensor_bytes;
    if (tensors > 0) all.resize((all.size() + alignment - 1) / alignment * alignment);
    return all + data;
  }
};

/// Bytes of floats.
inline std::string f32_bytes(const std::vector<float>& values) { return bytes_of_values(std::span(values)); }

/// Drawn bytes.
template <class Random>
std::string drawn_bytes(std::size_t count, Random& random) {
  std::string bytes;
  while (bytes.size() < count) bytes += static_cast<char>(random() & 0xff);
  return bytes;
}

}  // namespace softcheck::proptests
