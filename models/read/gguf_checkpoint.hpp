#pragma once

#include <filesystem>
#include <memory>

#include "models/read/checkpoint.hpp"

namespace softcheck::models {

/// A checkpoint of one .gguf file.
///
/// throws   as open_checkpoint
std::unique_ptr<Checkpoint> open_gguf(const std::filesystem::path& file);

}  // namespace softcheck::models
