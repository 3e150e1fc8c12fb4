#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "judge/results/given_tensor.hpp"
#include "models/read/file_errors.hpp"
#include "numerics/formats/format.hpp"

namespace softcheck::proptests {

/// A tensor of a file, with the owner of its bytes: the file's mapping, or memory.
struct FileTensor {
  GivenTensor tensor;
  std::string file;
  std::string name;   // in the file; empty for .npy
  std::string dtype;  // in the file's words: "<f4", "BF16"
  std::shared_ptr<const void> holder;

  /// "x.npy", "x.npz:logits"
  std::string place() const { return name.empty() ? file : file + ":" + name; }
};

/// Most dimensions of a tensor in a file; NumPy's own limit.
constexpr std::size_t most_file_dimensions = 64;

/// The tensor at "x.npy", "x.npz:name" or "x.safetensors:name"; without a name the file's only tensor. Maps .npy and
/// .safetensors files, and unpacks members of an .npz. File names may contain colons.
///
/// voids    format of elements without a known type ('|V2', '|V1'), with as many bytes: NumPy has no bf16 and no 8-bit
///          formats, and ml_dtypes stores them so. Nothing: refuse them
/// throws   models::TensorFileError with the file and the error; models::MissingTensorFile;
///          models::UnsupportedTensorFile; std::system_error and std::bad_alloc if the system has no memory
FileTensor read_tensor(const std::string& place, std::optional<numerics::Format> voids = std::nullopt);

/// The index of the tensor with this name in a file; of the only tensor if `wanted` is empty.
///
/// file     its name, for errors
/// throws   models::TensorFileError with the names in the file
std::size_t place_of_name(std::span<const std::string> names, const std::string& wanted, const std::string& file);

}  // namespace softcheck::proptests
