#include "judge/sandbox/sparse_arena.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace softcheck::proptests {
namespace {

void* map_shared(std::size_t bytes, int rights) {
  void* mapping = mmap(nullptr, bytes, rights, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "SparseArena: mmap");
  return mapping;
}

}  // namespace

SparseArena::SparseArena(std::size_t slots, std::size_t bytes_per_slot)
    : slots_(slots), bytes_(bytes_per_slot + GuardedPages::around) {
  addresses_ = static_cast<std::byte*>(map_shared(size(), PROT_NONE));
  madvise(addresses_, size(), MADV_DONTDUMP);
  try {
    table_ = static_cast<ByteRange*>(
        map_shared(slots_ * GuardedPages::most_islands * sizeof(ByteRange), PROT_READ | PROT_WRITE));
  } catch (...) {
    munmap(addresses_, size());
    throw;
  }
}

SparseArena::~SparseArena() {
  munmap(addresses_, size());
  munmap(table_, slots_ * GuardedPages::most_islands * sizeof(ByteRange));
}

std::span<const ByteRange> SparseArena::publish(std::size_t index, std::span<const ByteRange> places) {
  ByteRange* first = table_ + index * GuardedPages::most_islands;
  std::ranges::copy(places, first);
  return {first, places.size()};
}

}  // namespace softcheck::proptests
