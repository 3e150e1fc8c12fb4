#include "judge/sandbox/guarded_pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <system_error>

namespace softcheck::proptests {
namespace {

constexpr std::size_t margin = std::size_t{64} << 10;
// Wide enough for an overlong vector load, a prefetched tile or a skipped row to end inside it.
constexpr std::size_t guard_bytes = std::size_t{256} << 10;

// The address of the first buffer, reused for later ones. qemu-user 7.2 otherwise gives each mapping new addresses, and
// keeps 24 bytes for every page that ever existed: gigabytes, if tensors have gigabytes.
std::atomic<void*> first_place = nullptr;

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

// Rounds to whole pages, sorts, and merges ranges that touch.
std::vector<ByteRange> islands_of(std::span<const ByteRange> used, std::size_t bytes) {
  constexpr std::size_t most_islands = GuardedPages::most_islands;
  const std::size_t page = page_bytes();
  std::vector<ByteRange> islands;
  for (const ByteRange& range : used) {
    if (range.begin >= range.end || range.end > bytes) {
      throw std::invalid_argument("GuardedPages: need ranges within " + std::to_string(bytes) + " bytes, got [" +
                                  std::to_string(range.begin) + ", " + std::to_string(range.end) + ")");
    }
    const ByteRange island{range.begin / page * page, (range.end + page - 1) / page * page};
    // Rows usually come in order, thousands on few pages: merge them here, so that few ranges are left to sort.
    if (!islands.empty() && island.begin >= islands.back().begin && island.begin <= islands.back().end) {
      islands.back().end = std::max(islands.back().end, island.end);
    } else {
      islands.push_back(island);
    }
  }
  std::ranges::sort(islands, {}, &ByteRange::begin);
  std::vector<ByteRange> merged;
  for (const ByteRange& island : islands) {
    if (merged.empty() || merged.back().end < island.begin) {
      merged.push_back(island);
    } else {
      merged.back().end = std::max(merged.back().end, island.end);
    }
  }
  if (merged.empty() || merged.size() > most_islands) {
    throw std::invalid_argument("GuardedPages: need 1 to " + std::to_string(most_islands) + " separate places, got " +
                                std::to_string(merged.size()));
  }
  return merged;
}

void* map_shared(std::size_t bytes, int rights) {
  void* mapping = mmap(nullptr, bytes, rights, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "SparseArena: mmap");
  return mapping;
}

}  // namespace

GuardedPages::GuardedPages(std::size_t bytes, Filling filling) : filling_(static_cast<std::byte>(filling)) {
  reserve(bytes);
  open({0, size_});
}

GuardedPages::GuardedPages(std::size_t bytes, Filling filling, std::span<const ByteRange> used, PageSlot slot)
    : filling_(static_cast<std::byte>(filling)), sparse_(true), watched_(islands_of(used, bytes)) {
  reserve(bytes, slot);
  for (const ByteRange& island : watched_) {
    open(island);
    fill(island);
  }
}

GuardedPages::~GuardedPages() {
  if (!reserved_) {
    munmap(mapping_, mapping_size_);
    return;
  }
  for (const ByteRange& island : watched_) madvise(begin_ + island.begin, island.end - island.begin, MADV_REMOVE);
  mprotect(mapping_, mapping_size_, PROT_NONE);
}

// Private and inaccessible, so that the system does not count it as memory; opened pages are shared.
void GuardedPages::reserve(std::size_t bytes, PageSlot slot) {
  const std::size_t page = page_bytes();
  size_ = std::max<std::size_t>(1, (bytes + page - 1) / page) * page;
  mapping_size_ = size_ + 2 * guard_bytes;
  reserved_ = slot.begin != nullptr;
  if (reserved_) {
    if (mapping_size_ > slot.size) {
      throw std::invalid_argument("GuardedPages: need a slot of " + std::to_string(mapping_size_) + " bytes, got " +
                                  std::to_string(slot.size));
    }
    mapping_ = slot.begin;
    begin_ = mapping_ + guard_bytes;
    return;
  }
  void* mapping = mmap(first_place, mapping_size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "GuardedPages: mmap");
  void* none = nullptr;
  first_place.compare_exchange_strong(none, mapping);
  mapping_ = static_cast<std::byte*>(mapping);
  begin_ = mapping_ + guard_bytes;
}

void GuardedPages::open(const ByteRange& range) const {
  constexpr int flags = MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  constexpr int rights = PROT_READ | PROT_WRITE;
  std::byte* begin = begin_ + range.begin;
  const std::size_t bytes = range.end - range.begin;
  if (reserved_ ? mprotect(begin, bytes, rights) == 0 : mmap(begin, bytes, rights, flags, -1, 0) != MAP_FAILED) return;
  const int error = errno;
  if (reserved_) {
    mprotect(mapping_, mapping_size_, PROT_NONE);
  } else {
    munmap(mapping_, mapping_size_);
  }
  throw std::system_error(error, std::generic_category(), "GuardedPages: mmap");
}

void GuardedPages::fill(const ByteRange& range) const {
  if (range.begin < range.end) {
    std::memset(begin_ + range.begin, static_cast<int>(filling_), range.end - range.begin);
  }
}

std::byte* GuardedPages::place(std::size_t bytes, bool against_the_end) {
  if (bytes > size_) {
    throw std::invalid_argument("GuardedPages::place: need at most " + std::to_string(size_) + " bytes, got " +
                                std::to_string(bytes));
  }
  const std::size_t offset = against_the_end ? size_ - bytes : 0;
  if (sparse_) return begin_ + offset;
  const std::size_t page = page_bytes();
  const std::size_t reach = std::min((bytes + margin + page - 1) / page * page, size_);
  if (against_the_end && reach > filled_back_) {
    fill({size_ - reach, size_ - filled_back_});
    filled_back_ = reach;
  } else if (!against_the_end && reach > filled_front_) {
    fill({filled_front_, reach});
    filled_front_ = reach;
  }
  watched_ = {against_the_end ? ByteRange{size_ - reach, size_} : ByteRange{0, reach}};
  return begin_ + offset;
}

bool GuardedPages::restore() {
  bool intact = true;
  for (const ByteRange& range : watched_) {
    const std::byte* first = begin_ + range.begin;
    // If the first byte is the filling and each byte equals the next one, all are the filling.
    const bool same = *first == filling_ && std::memcmp(first, first + 1, range.end - range.begin - 1) == 0;
    if (!same) fill(range);
    intact &= same;
  }
  return intact;
}

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
