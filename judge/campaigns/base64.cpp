#include "judge/campaigns/base64.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace softcheck::proptests {
namespace {

constexpr std::string_view base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::size_t group_bytes = 3, group_digits = 4;

}  // namespace

std::string base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + group_bytes - 1) / group_bytes * group_digits);
  for (std::size_t at = 0; at < bytes.size(); at += group_bytes) {
    const std::string_view group = bytes.substr(at, group_bytes);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < group_bytes; ++i) {
      bits = bits << 8 | (i < group.size() ? static_cast<unsigned char>(group[i]) : 0U);
    }
    for (std::size_t i = 0; i < group_digits; ++i) {
      text += i <= group.size() ? base64_digits[bits >> (18 - 6 * i) & 63] : '=';
    }
  }
  return text;
}

std::string bytes_of_base64(std::string_view text) {
  if (text.size() % group_digits != 0) throw std::invalid_argument("base64: need groups of four characters");
  std::string bytes;
  bytes.reserve(text.size() / group_digits * group_bytes);
  for (std::size_t at = 0; at < text.size(); at += group_digits) {
    const std::string_view group = text.substr(at, group_digits);
    const std::size_t padding = at + group_digits < text.size() || group[3] != '=' ? 0 : group[2] == '=' ? 2 : 1;
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < group_digits; ++i) {
      const std::size_t digit = i < group_digits - padding ? base64_digits.find(group[i]) : 0;
      if (digit == std::string_view::npos) throw std::invalid_argument("base64: need letters, digits, + and /");
      bits = bits << 6 | static_cast<std::uint32_t>(digit);
    }
    for (std::size_t i = 0; i < group_bytes - padding; ++i) bytes += static_cast<char>(bits >> (16 - 8 * i) & 255);
  }
  return bytes;
}

}  // namespace softcheck::proptests
