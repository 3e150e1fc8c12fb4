#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace softcheck::proptests {

/// A regular file in this process's addresses, read only: no byte is read before it is looked at.
///
/// Where another program makes the file shorter meanwhile, a look at what is gone ends in SIGBUS.
class MappedFile {
 public:
  /// throws   models::TensorFileError where the file cannot be opened, is no regular file, or is empty;
  ///          std::system_error where the system gives no addresses
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
