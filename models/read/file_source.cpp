#include "models/read/file_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

namespace softcheck::models {

// Opening does not wait: a pipe may never have a writer.
RegularFile::RegularFile(const std::filesystem::path& path)
    : descriptor_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
  const int reason = errno;
  // A limit of the process is no fault of the file.
  if (descriptor_ < 0 && (reason == EMFILE || reason == ENFILE)) {
    throw std::system_error(reason, std::generic_category(), path.string());
  }
  if (descriptor_ < 0 && reason == ENOENT) throw MissingTensorFile(path.string() + ": is not there");
  if (descriptor_ < 0) throw TensorFileError(path.string() + ": cannot be read: " + std::strerror(reason));
  struct stat status {};
  const bool regular = fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
  size_ = static_cast<std::uint64_t>(status.st_size);
  if (regular && size_ > 0) return;
  close(descriptor_);
  throw TensorFileError(path.string() + (regular ? ": need a file of at least one byte, got an empty one"
                                                 : ": need a regular file, got a folder, a pipe or a device"));
}

RegularFile::~RegularFile() { close(descriptor_); }

bool RegularFile::read(std::uint64_t first, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t got = pread(descriptor_, into.data(), into.size(), static_cast<off_t>(first));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    into = into.subspan(static_cast<std::size_t>(got));
    first += static_cast<std::uint64_t>(got);
  }
  return true;
}

ByteSource open_file_source(const std::filesystem::path& path) {
  const auto file = std::make_shared<const RegularFile>(path);
  return {file->size(), [file](std::uint64_t first, std::span<std::byte> into) { return file->read(first, into); }};
}

std::string read_text_file(const std::filesystem::path& path, std::uint64_t most) {
  const RegularFile file(path);
  if (file.size() > most) {
    throw TensorFileError(path.string() + ": need at most " + std::to_string(most) + " bytes, got " +
                          std::to_string(file.size()));
  }
  std::string text(file.size(), '\0');
  if (!file.read(0, std::as_writable_bytes(std::span(text)))) throw TensorFileError(path.string() + ": cannot be read");
  return text;
}

}  // namespace softcheck::models
