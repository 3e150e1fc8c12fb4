#pragma once

#include <filesystem>

#include "models/read/safetensors_header.hpp"

namespace softcheck::models {

/// A regular file, open for as long as the source or a copy of it lives; several threads may read at once.
///
/// throws   MissingTensorFile where it is not there; TensorFileError where it cannot be opened or is a folder, a pipe
/// or
///          a device
ByteSource open_file_source(const std::filesystem::path& path);

/// The whole of a text file.
///
/// throws   as open_file_source does; TensorFileError where it has more than most bytes
std::string read_text_file(const std::filesystem::path& path, std::uint64_t most);

}  // namespace softcheck::models
