#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace softcheck::proptests {

/// A regular file mapped read-only: the system reads its bytes on first access.
///
/// If another program truncates the file meanwhile, an access beyond the new end raises SIGBUS.
class MappedFile {
 public:
  /// throws   models::TensorFileError if the file cannot be opened, is not a regular file, or is empty;
  /// std::system_error if the system provides no addresses
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

}  // namespace softcheck::proptests
