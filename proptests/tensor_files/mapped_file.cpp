#include "proptests/tensor_files/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "models/read/safetensors_header.hpp"

namespace softcheck::proptests {
namespace {

using models::TensorFileError;

// Open for reading, closed in the end. A pipe may never have a writer: opening one must not wait.
class ReadableFile {
 public:
  explicit ReadableFile(const std::filesystem::path& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    const int reason = errno;
    // A limit of the process is no fault of the file.
    if (descriptor_ < 0 && reason == EMFILE) throw std::system_error(reason, std::generic_category(), path.string());
    if (descriptor_ < 0) throw models::TensorFileError(path.string() + ": cannot be read: " + std::strerror(reason));
  }
  ~ReadableFile() { close(descriptor_); }
  ReadableFile(const ReadableFile&) = delete;
  ReadableFile& operator=(const ReadableFile&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const ReadableFile file(path);
  struct stat status {};
  if (fstat(file.descriptor(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw models::TensorFileError(path.string() + ": need a regular file, got a folder, a pipe or a device");
  }
  if (status.st_size == 0) throw models::TensorFileError(path.string() + ": need a file of tensors, got an empty one");
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const first = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (first == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(),
                            path.string() + ": cannot be mapped, " + std::to_string(size) + " bytes");
  }
  return std::shared_ptr<const MappedFile>(new MappedFile({static_cast<const std::byte*>(first), size}));
}

MappedFile::~MappedFile() { munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size()); }

}  // namespace softcheck::proptests
