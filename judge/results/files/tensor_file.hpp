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

/// A tensor of a file, and what holds its bytes: the file's mapping, or memory.
struct FileTensor {
  GivenTensor tensor;
  std::string file;
  std::string name;   // in the file; empty for .npy
  std::string dtype;  // as the file has it: "<f4", "BF16"
  std::shared_ptr<const void> holder;

  /// "x.npy", "x.npz:logits"
  std::string place() const { return name.empty() ? file : file + ":" + name; }
};

/// Dimensions of a tensor in a file; NumPy's own limit.
constexpr std::size_t most_file_dimensions = 64;

/// The tensor at "x.npy", "x.npz:name" or "x.safetensors:name"; without a name the only tensor that the file holds.
/// .npy and .safetensors are mapped, members of an .npz are read. A colon in the file's own name does no harm.
///
/// voids    what elements without a meaning ('|V2', '|V1') are, a format of as many bytes: NumPy has no bf16 and no
///          format of 8 bits, and ml_dtypes stores them so. Nothing: they are refused
/// throws   models::TensorFileError naming the file and what is wrong with it; models::MissingTensorFile;
///          models::UnsupportedTensorFile; std::system_error and std::bad_alloc where the system gives no memory
FileTensor read_tensor(const std::string& place, std::optional<numerics::Format> voids = std::nullopt);

/// Which of a file's tensors is wanted: the one of that name, or the only one where wanted is empty.
///
/// file     its name, for errors
/// throws   models::TensorFileError naming those that the file holds
std::size_t place_of_name(std::span<const std::string> names, const std::string& wanted, const std::string& file);

}  // namespace softcheck::proptests
