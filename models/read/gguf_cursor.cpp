#include "models/read/gguf_cursor.hpp"

#include <algorithm>

namespace softcheck::models {
namespace {

constexpr std::uint64_t window_bytes = std::uint64_t{1} << 16;

}  // namespace

void GgufCursor::fail(const std::string& what) const { throw TensorFileError(name_ + ": " + what); }

void GgufCursor::require(std::uint64_t count, const char* what) const {
  if (count <= rest()) return;
  fail("need " + std::to_string(count) + " bytes of " + what + " at byte " + std::to_string(position_) +
       ", the file ends after " + std::to_string(rest()));
}

void GgufCursor::take(std::span<std::byte> into, const char* what) {
  require(into.size(), what);
  while (!into.empty()) {
    if (position_ < window_begin_ || position_ >= window_begin_ + window_.size()) {
      window_.resize(std::min(window_bytes, rest()));
      window_begin_ = position_;
      if (!source_.read(position_, window_)) fail("cannot be read");
    }
    const std::uint64_t at = position_ - window_begin_;
    const std::size_t count = std::min<std::uint64_t>(into.size(), window_.size() - at);
    std::memcpy(into.data(), window_.data() + at, count);
    into = into.subspan(count);
    position_ += count;
  }
}

std::string GgufCursor::text(const char* what, std::uint64_t most) {
  const auto length = number<std::uint64_t>(what);
  require(length, what);
  if (length > most) {
    fail("need at most " + std::to_string(most) + " bytes of " + what + ", got " + std::to_string(length));
  }
  std::string text(length, '\0');
  take(std::as_writable_bytes(std::span(text)), what);
  return text;
}

void GgufCursor::skip_text(const char* what) { skip(number<std::uint64_t>(what), what); }

void GgufCursor::skip(std::uint64_t count, const char* what) {
  require(count, what);
  position_ += count;
}

}  // namespace softcheck::models
