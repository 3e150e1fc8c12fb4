#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/read/safetensors_header.hpp"

namespace softcheck::experiments {

/// 32-bit floats in row-major order.
struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;  // their number is the product of the shape
};

/// The contents of a safetensors file: tensors by name, and the texts of its __metadata__.
struct TensorFile {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// Reads as strictly as models::read_safetensors_header, which checks the whole header before any tensor is read.
///
/// dtype    of all tensors, "F32" or "BF16"
/// throws   models::TensorFileError on anything else: no regular file, another dtype, more than 1 GiB of tensors
TensorFile read_safetensors(const std::filesystem::path& path, std::string_view dtype = "F32");

/// The same from memory; name stands for the file in errors.
TensorFile parse_safetensors(std::span<const std::byte> bytes, const std::string& name);

/// The nearest number of bf16, ties to even: a BF16 file stores it for a finite float.
float nearest_bf16(float value);

/// Writes a temporary file next to it and renames that, so that a reader never sees a part. The same contents give the
/// same bytes.
///
/// dtype    "F32", or "BF16" for nearest_bf16 of every value
/// throws   std::invalid_argument when a tensor's values do not fill its shape; std::system_error when it cannot write
void write_safetensors(const std::filesystem::path& path, const TensorFile& file, std::string_view dtype = "F32");

}  // namespace softcheck::experiments
