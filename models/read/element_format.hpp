#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "models/read/checkpoint.hpp"

namespace softcheck::models {

/// How numbers of one dtype stand in a file: blocks of so many numbers in so many bytes.
struct ElementFormat {
  std::string_view dtype;  // as StoredTensor has it
  std::int64_t block_numbers;
  std::int64_t block_bytes;
  /// The numbers of so many blocks, each exactly; NaN and infinities come out as one of the two.
  std::function<void(const std::byte* blocks, std::int64_t count, double* numbers)> decode;
};

/// Formats: IEEE 754 and OCP 8-bit floating point (numerics/formats/format.hpp); ggml's blocks (block_formats()).
/// Every number of each is a double.
///
/// returns  nullptr where the dtype is not read
const ElementFormat* find_element_format(std::string_view dtype);

/// The names of all formats, for messages: "F64, F32, ...".
std::string element_format_names();

using BytePieces = std::function<void(std::span<const std::byte>)>;

/// The bytes that stand in a file for a tensor, then those of its scales where it has some, no more than most of each,
/// in pieces of a mebibyte.
///
/// throws   as Checkpoint::read where they cannot be read; std::logic_error where no file is behind the checkpoint
void read_stored_bytes(const Checkpoint& checkpoint, const StoredTensor& tensor, std::uint64_t most,
                       const BytePieces& piece);

/// The bytes of what describes the model: config.json, or all that a GGUF file has before its first tensor.
void read_description_bytes(const Checkpoint& checkpoint, const BytePieces& piece);

// What one in the last place is worth, for each sign and exponent of an f16: infinite where it has no number.
inline constexpr std::array<double, 64> f16_units = [] {
  std::array<double, 64> units{};
  for (std::size_t field = 0; field < 64; ++field) {
    double unit = 0x1p-24;
    for (std::size_t i = 1; i < field % 32; ++i) unit *= 2;
    if (field % 32 == 31) unit = std::numeric_limits<double>::infinity();
    units[field] = field < 32 ? unit : -unit;
  }
  return units;
}();

/// The f16 at an address: infinite or NaN where it is one of them, though not which.
inline double f16_number(const std::byte* from) {
  std::uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  const unsigned hidden = (bits & 0x7c00) != 0 ? 0x400 : 0;
  return static_cast<int>((bits & 0x3ff) | hidden) * f16_units[bits >> 10];
}

/// ggml's quantised types, as ggml-common.h lays out their blocks. Every number of each is a double: a scale is an
/// integer of 11 bits times a power of two, and what it is multiplied with or added to keeps within 53 bits.
std::span<const ElementFormat> block_formats();

}  // namespace softcheck::models
