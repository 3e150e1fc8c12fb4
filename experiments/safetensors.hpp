#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "models/read/safetensors_header.hpp"

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

/// Reads as strictly as models::read_safetensors_header, which sees the whole header before any tensor is read.
///
/// throws   models::TensorFileError on anything else: what is no regular file, a dtype other than F32, more than 1 GiB
/// of
///          tensors
TensorFile read_safetensors(const std::filesystem::path& path);

/// The same from memory; name stands for the file in errors.
TensorFile parse_safetensors(std::span<const std::byte> bytes, const std::string& name);

/// Writes beside the file and renames, so that no reader ever sees half of it. The same contents give the same bytes.
///
/// throws   std::invalid_argument when a tensor's values do not fill its shape; std::system_error when it cannot write
void write_safetensors(const std::filesystem::path& path, const TensorFile& file);

}  // namespace softcheck::experiments
