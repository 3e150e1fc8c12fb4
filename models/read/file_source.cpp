#include "models/read/file_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace softcheck::models {
namespace {

// Opening a pipe or a device does not wait for its other end: O_NONBLOCK.
class OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& path)
      : descriptor_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    if (descriptor_ < 0) {
      if (errno == ENOENT) throw MissingTensorFile(path.string() + ": is not there");
      throw TensorFileError(path.string() + ": cannot be read: " + std::strerror(errno));
    }
    struct stat status {};
    if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
      close(descriptor_);
      throw TensorFileError(path.string() + ": need a regular file, got a folder, a pipe or a device");
    }
    size_ = static_cast<std::uint64_t>(status.st_size);
  }
  ~OpenFile() { close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  std::uint64_t size() const { return size_; }
  bool read(std::uint64_t first, std::span<std::byte> into) const {
    while (!into.empty()) {
      const ssize_t got = pread(descriptor_, into.data(), into.size(), static_cast<off_t>(first));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;  // the file has become shorter
      first += static_cast<std::uint64_t>(got);
      into = into.subspan(static_cast<std::size_t>(got));
    }
    return true;
  }

 private:
  int descriptor_;
  std::uint64_t size_ = 0;
};

}  // namespace

ByteSource open_file_source(const std::filesystem::path& path) {
  const auto file = std::make_shared<const OpenFile>(path);
  return {file->size(), [file](std::uint64_t first, std::span<std::byte> into) { return file->read(first, into); }};
}

std::string read_text_file(const std::filesystem::path& path, std::uint64_t most) {
  const ByteSource source = open_file_source(path);
  if (source.size > most) {
    throw TensorFileError(path.string() + ": need at most " + std::to_string(most) + " bytes, got " +
                          std::to_string(source.size));
  }
  std::string text(source.size, '\0');
  if (!source.read(0, std::as_writable_bytes(std::span(text)))) {
    throw TensorFileError(path.string() + ": cannot be read");
  }
  return text;
}

}  // namespace softcheck::models
