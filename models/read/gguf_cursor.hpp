#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "models/read/safetensors_header.hpp"

namespace softcheck::models {

/// Reads the parts of a little-endian file one after the other, some of it in memory at a time.
class GgufCursor {
 public:
  GgufCursor(const ByteSource& source, const std::string& name) : source_(source), name_(name) {}

  std::uint64_t position() const { return position_; }
  std::uint64_t rest() const { return source_.size - position_; }

  /// what     is read, for the error where the file ends before it
  template <typename T>
  T number(const char* what) {
    std::byte bytes[sizeof(T)];
    take(bytes, what);
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  /// A length of 64 bits and as many bytes, at most so many of them.
  std::string text(const char* what, std::uint64_t most);
  void skip_text(const char* what);
  void skip(std::uint64_t count, const char* what);

  [[noreturn]] void fail(const std::string& what) const;

 private:
  void require(std::uint64_t count, const char* what) const;
  void take(std::span<std::byte> into, const char* what);

  const ByteSource& source_;
  const std::string& name_;
  std::uint64_t position_ = 0;
  std::vector<std::byte> window_;  // bytes of the file from here on
  std::uint64_t window_begin_ = 0;
};

}  // namespace softcheck::models
