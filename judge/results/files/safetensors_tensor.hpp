#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "judge/results/given_tensor.hpp"

namespace softcheck::proptests {

/// A tensor of a safetensors file.
struct SafetensorsTensor {
  GivenTensor tensor;  // points into the bytes
  std::string name;
  std::string dtype;  // "BF16"
};

/// The tensor of this name, of F64, F32, F16 or BF16, or U8 or BOOL as a mask; the file's only tensor if `wanted` is
/// empty. Other tensors may have any dtype, but the header is checked as strictly as by
/// models::read_safetensors_header.
///
/// name     of the file, for errors
/// throws   models::TensorFileError
SafetensorsTensor parse_safetensors_tensor(std::span<const std::byte> bytes, const std::string& name,
                                           const std::string& wanted);

}  // namespace softcheck::proptests
