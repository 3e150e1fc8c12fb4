#pragma once

#include <filesystem>
#include <memory>

#include "models/read/checkpoint.hpp"

namespace softcheck::models {

/// A folder with model.safetensors or the shards of model.safetensors.index.json, or one file; config.json beside it.
///
/// throws   as open_checkpoint does
std::unique_ptr<Checkpoint> open_safetensors_folder(const std::filesystem::path& folder);
std::unique_ptr<Checkpoint> open_safetensors_file(const std::filesystem::path& file);

}  // namespace softcheck::models
