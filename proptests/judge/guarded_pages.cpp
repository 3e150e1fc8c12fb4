#include "proptests/judge/guarded_pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace softcheck::proptests {
namespace {

constexpr std::size_t margin = std::size_t{64} << 10;
// Wide enough that a vector load, a prefetched tile or a skipped row ends inside it.
constexpr std::size_t guard_bytes = std::size_t{256} << 10;

}  // namespace

GuardedPages::GuardedPages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  size_ = std::max<std::size_t>(1, (bytes + page - 1) / page) * page;
  mapping_size_ = size_ + 2 * guard_bytes;
  void* mapping = mmap(nullptr, mapping_size_, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "GuardedPages: mmap");
  mapping_ = static_cast<std::byte*>(mapping);
  begin_ = mapping_ + guard_bytes;
  if (mprotect(begin_, size_, PROT_READ | PROT_WRITE) != 0) {
    const int error = errno;
    munmap(mapping_, mapping_size_);
    throw std::system_error(error, std::generic_category(), "GuardedPages: mprotect");
  }
}

GuardedPages::~GuardedPages() { munmap(mapping_, mapping_size_); }

GuardedView::GuardedView(const GuardedPages& pages, std::size_t bytes, bool against_the_end, Filling filling)
    : filling_(static_cast<std::byte>(filling)) {
  const std::span<std::byte> all = pages.bytes();
  if (bytes > all.size()) throw std::invalid_argument("GuardedView: the view is larger than its pages");
  const std::size_t offset = against_the_end ? all.size() - bytes : 0;
  view_ = all.subspan(offset, bytes);
  before_ = all.subspan(offset - std::min(offset, margin), std::min(offset, margin));
  const std::size_t rest = all.size() - offset - bytes;
  behind_ = all.subspan(offset + bytes, std::min(rest, margin));
  for (const std::span<std::byte> part : {before_, view_, behind_}) std::ranges::fill(part, filling_);
}

bool GuardedView::untouched(std::span<const std::byte> bytes) const {
  return std::ranges::all_of(bytes, [this](std::byte byte) { return byte == filling_; });
}

bool GuardedView::surroundings_intact() const { return untouched(before_) && untouched(behind_); }

}  // namespace softcheck::proptests
