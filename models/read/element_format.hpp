#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace softcheck::models {

/// How numbers of one dtype stand in a file: blocks of so many numbers in so many bytes.
struct ElementFormat {
  std::string_view dtype;  // as StoredTensor has it
  std::int64_t block_numbers;
  std::int64_t block_bytes;
  /// The numbers of so many blocks, each exactly; NaN and infinities come out as one of the two.
  void (*decode)(const std::byte* blocks, std::int64_t count, double* numbers);
};

/// Formats: IEEE 754 and OCP 8-bit floating point (numerics/formats/format.hpp); ggml's blocks as ggml-common.h
/// declares them. Every number of each is a double: the factors of a block are f16, integers times 2^-24, and what they
/// are multiplied with has at most 14 bits.
///
/// returns  nullptr where the dtype is not read
const ElementFormat* find_element_format(std::string_view dtype);

}  // namespace softcheck::models
