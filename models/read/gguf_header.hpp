#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/read/checkpoint.hpp"
#include "models/read/safetensors_header.hpp"

namespace softcheck::models {

struct GgufEntry {
  StoredTensor tensor;      // dtype "type 77" where the type is none of those that are known here
  std::uint64_t begin = 0;  // byte in the file
};

struct GgufHeader {
  /// Without those below "tokenizer.", which are long and of no use here.
  std::vector<std::pair<std::string, ConfigValue>> keys;
  std::vector<GgufEntry> tensors;  // in the order of their data
};

/// Reads what a GGUF file has before its data, strictly: version 2 or 3, little-endian, no key and no tensor twice,
/// tensors that follow one another with nothing but their alignment between, the last at the end of the file. No tensor
/// is read. Where a tensor's type is not known, it ends somewhere before the next.
/// Format: ggml, docs/gguf.md.
///
/// name     of the file, for errors
/// throws   UnsupportedTensorFile for another version or a big-endian file; TensorFileError on anything else
GgufHeader read_gguf_header(const ByteSource& source, const std::string& name);

/// A checkpoint of one .gguf file.
///
/// throws   as open_checkpoint
std::unique_ptr<Checkpoint> open_gguf(const std::filesystem::path& file);

}  // namespace softcheck::models
