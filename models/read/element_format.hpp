#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace softcheck::models {

/// How numbers are stored: blocks of elements that take a whole number of bytes.
struct ElementFormat {
  std::string_view dtype;    // as the file has it: "BF16", "Q4_K"
  std::size_t elements = 1;  // of a block
  std::size_t bytes = 0;     // of a block
  /// Numbers of whole blocks, each exactly what is stored. Where one is no double it is rounded, and the return value
  /// bounds what that took; 0 otherwise.
  double (*decode)(std::span<const std::byte> blocks, std::span<double> values) = nullptr;
};

/// The format of a dtype that can be read; nullptr for any other.
const ElementFormat* element_format(std::string_view dtype);

}  // namespace softcheck::models
