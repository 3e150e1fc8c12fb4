#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/read/file_errors.hpp"

namespace softcheck::models {

class Checkpoint;
class Config;

/// A file of which only the parts that are asked for are read.
struct ByteSource {
  std::uint64_t size = 0;
  /// Bytes from first on; false where they cannot be read.
  std::function<bool(std::uint64_t first, std::span<std::byte> into)> read;
};

/// Bytes at hand; they outlive the source.
ByteSource bytes_at_hand(std::span<const std::byte> bytes);

/// Where a safetensors file has a tensor.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;  // "F32"
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  // in bytes behind the header
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> tensors;  // in the order of their data
  std::map<std::string, std::string> metadata;
  std::uint64_t data_begin = 0;  // the bytes of length and header
  std::uint64_t data_size = 0;   // all that follows
};

/// Reads the header strictly: an 8-byte length, JSON of that length (at most 100 MB, no key twice, nested no deeper
/// than a tensor's shape), tensors that cover the rest of the file without a hole or an overlap, each as many bytes as
/// its shape needs. No tensor is read. Format: huggingface/safetensors, its README.
///
/// name     of the file, for errors
/// dtype    the only one that a tensor may have; empty: any of the format
/// throws   TensorFileError on anything else
SafetensorsHeader read_safetensors_header(const ByteSource& source, const std::string& name,
                                          std::string_view dtype = {});

/// A checkpoint of one .safetensors file.
///
/// path     what the user gave, for Checkpoint::path
std::unique_ptr<Checkpoint> open_safetensors(const std::filesystem::path& file, const std::filesystem::path& path,
                                             const Config& config);

/// A checkpoint of the shards that a model.safetensors.index.json names. They stand beside it, and each has the tensors
/// that the index names for it and no other.
///
/// path     what the user gave, for Checkpoint::path
std::unique_ptr<Checkpoint> open_shards(const std::filesystem::path& index, const std::filesystem::path& path,
                                        const Config& config);

}  // namespace softcheck::models
