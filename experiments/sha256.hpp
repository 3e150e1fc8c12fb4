#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace softcheck::experiments {

/// SHA-256 (FIPS 180-4) in 64 hexadecimal digits, as sha256sum prints it. Results identify a model by it.
std::string sha256(std::string_view bytes);

/// Of a file's contents.
/// throws   std::runtime_error naming the file when it cannot be read
std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace softcheck::experiments
