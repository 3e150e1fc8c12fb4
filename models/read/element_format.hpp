#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "models/read/checkpoint.hpp"

namespace softcheck::models {

/// How numbers of one dtype stand in a file: blocks of so many numbers in so many bytes.
struct ElementFormat {
  std::string_view dtype;  // as StoredTensor has it
  std::int64_t block_numbers;
  std::int64_t block_bytes;
  /// The numbers of so many blocks, each exactly; NaN and infinities come out as one of the two.
  std::function<void(const std::byte* blocks, std::int64_t count, double* numbers)> decode;
};

/// Formats: IEEE 754 and OCP 8-bit floating point (numerics/formats/format.hpp); ggml's blocks (block_formats.hpp).
/// Every number of each is a double.
///
/// returns  nullptr where the dtype is not read
const ElementFormat* find_element_format(std::string_view dtype);

/// The names of all formats, for messages: "F64, F32, ...".
std::string element_format_names();

using BytePieces = std::function<void(std::span<const std::byte>)>;

/// The bytes that stand in a file for a tensor, then those of its scales where it has some, no more than most of each,
/// in pieces of a mebibyte.
///
/// throws   as Checkpoint::read where they cannot be read; std::logic_error where no file is behind the checkpoint
void read_stored_bytes(const Checkpoint& checkpoint, const StoredTensor& tensor, std::uint64_t most,
                       const BytePieces& piece);

/// The bytes of what describes the model: config.json, or all that a GGUF file has before its first tensor.
void read_description_bytes(const Checkpoint& checkpoint, const BytePieces& piece);

}  // namespace softcheck::models
