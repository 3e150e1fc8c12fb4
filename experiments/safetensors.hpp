#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace softcheck::experiments {

/// 32-bit floats in row-major order.
struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;  // as many as the product of the shape
};

/// What a safetensors file holds: tensors by name, and the texts of its __metadata__.
struct TensorFile {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// The file is not what it must be; the text names the file and what was expected and found.
class TensorFileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads strictly: an 8-byte length, a JSON header of that length (at most 100 MB, no key twice, nested no deeper than
/// a tensor's shape), then tensors that cover the rest of the file without a hole or an overlap. The header is read and
/// checked before any tensor. Format: huggingface/safetensors, its README.
///
/// throws   TensorFileError on anything else: what is no regular file, a dtype other than F32, more than 1 GiB of
///          tensors
TensorFile read_safetensors(const std::filesystem::path& path);

/// The same from memory; name stands for the file in errors.
TensorFile parse_safetensors(std::span<const std::byte> bytes, const std::string& name);

/// Writes beside the file and renames, so that no reader ever sees half of it. The same contents give the same bytes.
///
/// throws   std::invalid_argument when a tensor's values do not fill its shape; std::system_error when it cannot write
void write_safetensors(const std::filesystem::path& path, const TensorFile& file);

}  // namespace softcheck::experiments
