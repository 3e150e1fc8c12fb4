#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "models/read/checkpoint.hpp"

namespace softcheck::models {

using BytePieces = std::function<void(std::span<const std::byte>)>;

/// The bytes that stand in a file for a tensor, no more than most of them, in pieces of a mebibyte.
///
/// throws   as Checkpoint::read where they cannot be read; std::logic_error where no file is behind the checkpoint
void read_stored_bytes(const Checkpoint& checkpoint, const StoredTensor& tensor, std::uint64_t most,
                       const BytePieces& piece);

/// The bytes of what describes the model: config.json, or all that a GGUF file has before its first tensor.
void read_description_bytes(const Checkpoint& checkpoint, const BytePieces& piece);

}  // namespace softcheck::models
