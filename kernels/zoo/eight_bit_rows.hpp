#pragma once

#include <cstdint>
#include <utility>

#include "kernels/zoo/reference_rows.hpp"

// Rows of 8 bits whose bytes a kernel converts by its own functions. Each planted bug of a format changes one.
namespace softcheck::kernels::zoo {

/// The conversions of a format of 8 bits; a bug derives from them and hides one.
struct EightBits {
  arithmetic::ByteFormat format = arithmetic::byte_formats[0];

  float widened(std::uint8_t bits) const { return arithmetic::byte_to_f32(format, bits); }
  std::uint8_t narrowed(float value) const { return arithmetic::f32_to_byte(format, value); }
  float largest() const { return widened(static_cast<std::uint8_t>(format.end() - 1)); }
  unsigned first_normal() const { return format.fraction() + 1; }
  float smallest_normal() const { return widened(static_cast<std::uint8_t>(first_normal())); }
};

/// The sign bit of a number, at its position in a byte.
inline std::uint8_t sign_bit(float value) { return std::signbit(value) ? 0x80 : 0; }

/// Calls compute(Row&) for every row, whose numbers Bits converts; refuses other dtypes.
template <class Bits, class Compute>
int each_row_of_eight_bits(const softcheck_call* call, Compute compute) {
  const std::optional<Matrices> found = matrices_of(*call);
  if (!found || found->logits.type.bits != 8 || found->out.type.bits != 8) return 1;
  Bits bits;
  bits.format = byte_format(found->logits.type);
  for (std::int64_t r = 0; r < found->logits.rows; ++r) {
    Row row = gather<float>(*found, r);
    for (std::size_t i = 0; i < row.logits.size(); ++i) {
      const auto column = static_cast<std::int64_t>(i);
      const bool visible = !found->mask || *found->mask->at(r, column) != 0;
      if (visible) row.logits[i] = bits.widened(bits_at<std::uint8_t>(found->logits.at(r, column)));
    }
    compute(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      const std::uint8_t byte = bits.narrowed(row.out[i]);
      std::memcpy(found->out.at(r, static_cast<std::int64_t>(i)), &byte, 1);
    }
  }
  return 0;
}

}  // namespace softcheck::kernels::zoo

/// A bug of one conversion: the op's object, the conversion's result and its declaration, for its body.
#define EIGHT_BITS_BUG(symbol, op_row, result, conversion)       \
  struct symbol##_bits : EightBits {                             \
    result conversion const;                                     \
  };                                                             \
  SOFTCHECK_MUTANT symbol(const softcheck_call* asked) {         \
    return each_row_of_eight_bits<symbol##_bits>(asked, op_row); \
  }                                                              \
  inline result symbol##_bits::conversion const
