#include "judge/results/files/mapped_file.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <system_error>

#include "models/read/file_source.hpp"

namespace softcheck::proptests {

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const models::RegularFile file(path);
  const std::size_t size = file.size();
  void* const first = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (first == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(),
                            path.string() + ": cannot be mapped, " + std::to_string(size) + " bytes");
  }
  return std::shared_ptr<const MappedFile>(new MappedFile({static_cast<const std::byte*>(first), size}));
}

MappedFile::~MappedFile() { munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size()); }

}  // namespace softcheck::proptests
