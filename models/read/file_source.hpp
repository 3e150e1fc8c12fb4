#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "models/read/safetensors_header.hpp"

namespace softcheck::models {

/// A regular file, open for reading. Several threads may read at once.
class RegularFile {
 public:
  /// throws   MissingTensorFile where it is not there; TensorFileError where it cannot be opened, is no regular file or
  ///          is empty; std::system_error where the process may open no more files
  explicit RegularFile(const std::filesystem::path& path);
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  int descriptor() const { return descriptor_; }
  std::uint64_t size() const { return size_; }  // in bytes
  /// Bytes from first on; false where they cannot be read: the file may have become shorter.
  bool read(std::uint64_t first, std::span<std::byte> into) const;

 private:
  int descriptor_;
  std::uint64_t size_ = 0;
};

/// The same as a source, which closes the file when its last copy goes.
ByteSource open_file_source(const std::filesystem::path& path);

/// All bytes of a small file.
///
/// most     of them
/// throws   as RegularFile; TensorFileError where the file is larger or cannot be read
std::string read_text_file(const std::filesystem::path& path, std::uint64_t most);

}  // namespace softcheck::models
