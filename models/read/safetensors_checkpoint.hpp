#pragma once

#include <filesystem>
#include <memory>

#include "models/read/checkpoint.hpp"

namespace softcheck::models {

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
