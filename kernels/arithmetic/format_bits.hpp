#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace softcheck::kernels::arithmetic {

/// The value of an IEEE binary16, exactly. NaN payloads survive.
constexpr float f16_to_f32(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) {  // infinities and NaN: the largest exponent of either format
    return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  }
  if (magnitude < 0x400u) {  // zero and subnormals: magnitude * 2^-24, exact in f32
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + ((127u - 15u) << 23)));
}

/// Rounds to nearest even; a value that rounds beyond 65504 becomes infinite.
constexpr std::uint16_t f32_to_f16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    return static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  }
  if (magnitude >= 0x477ff000u) {  // 65520 = 65504 + half an ulp: the tie goes to the even side, infinity
    return static_cast<std::uint16_t>(sign | 0x7c00u);
  }
  if (magnitude < 0x38800000u) {  // below 2^-14: a multiple of 2^-24
    // Adding 1/2 puts the wanted last bit at f32's last bit, so that the addition rounds, to nearest even.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  const std::uint32_t rebased = magnitude - ((127u - 15u) << 23);
  return static_cast<std::uint16_t>(sign | ((rebased + 0xfffu + ((rebased >> 13) & 1u)) >> 13));
}

/// bf16 is the upper half of an f32.
constexpr float bf16_to_f32(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

/// Round to nearest even; NaN stays NaN though its payload sat in the lower half.
constexpr std::uint16_t f32_to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  }
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/// A format of 8 bits: a sign, an exponent, a fraction. Where it has infinities, an exponent of ones is theirs and
/// NaN's, as in IEEE 754; else NaN has ones everywhere.
struct ByteFormat {
  int dlpack_code;
  int fraction_bits;
  int bias;
  bool has_infinity;

  constexpr std::uint32_t fraction() const { return (1u << fraction_bits) - 1; }
  /// The smallest magnitude whose bits are an infinity or a NaN.
  constexpr std::uint32_t end() const { return has_infinity ? 0x7fu & ~fraction() : 0x7fu; }
  constexpr std::uint32_t nan() const { return has_infinity ? end() | (1u << (fraction_bits - 1)) : 0x7fu; }
  constexpr int dropped() const { return 23 - fraction_bits; }  // bits of an f32's fraction
  constexpr std::uint32_t rebase() const { return static_cast<std::uint32_t>(127 - bias) << 23; }
};

/// The two formats of OFP8 (OCP, revision 1.0), with the codes of DLPack 1.1.
inline constexpr ByteFormat byte_formats[]{{10, 3, 7, false}, {12, 2, 15, true}};

/// What becomes of a number beyond those of a format of 8 bits: infinity, or NaN where there is none; or the largest.
enum class Beyond { infinite, saturated };

constexpr float byte_to_f32(const ByteFormat& format, std::uint8_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x80u) << 24;
  const std::uint32_t magnitude = bits & 0x7fu;
  if (magnitude >= format.end()) {
    const std::uint32_t payload = (magnitude & format.fraction()) << format.dropped();
    return std::bit_cast<float>(sign | 0x7f800000u | (format.has_infinity ? payload : 0x400000u));
  }
  if (magnitude <= format.fraction()) {  // zero and subnormals: multiples of the smallest one
    const auto smallest =
        std::bit_cast<float>(static_cast<std::uint32_t>(128 - format.bias - format.fraction_bits) << 23);
    const float value = static_cast<float>(magnitude) * smallest;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << format.dropped()) + format.rebase()));
}

/// Round to nearest even, of the f32 itself: through an f16 it would round twice.
constexpr std::uint8_t f32_to_byte(const ByteFormat& format, float value, Beyond beyond = Beyond::infinite) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 24) & 0x80u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint8_t>(sign | format.nan());
  const std::uint32_t largest = format.end() - 1, half = 1u << (format.dropped() - 1);
  // The largest number and half an ulp: a tie goes to the even side.
  const std::uint32_t limit = (largest << format.dropped()) + format.rebase() + half;
  if (magnitude + (largest & 1u) > limit) {
    return static_cast<std::uint8_t>(sign | (beyond == Beyond::saturated ? largest : format.end()));
  }
  if (magnitude < format.rebase() + (1u << 23)) {
    // A multiple of the smallest number: an addition to 2^23 of them rounds.
    const std::uint32_t many = static_cast<std::uint32_t>(151 - format.bias - format.fraction_bits) << 23;
    const float shifted = std::bit_cast<float>(magnitude) + std::bit_cast<float>(many);
    return static_cast<std::uint8_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - many));
  }
  const std::uint32_t rebased = magnitude - format.rebase();
  return static_cast<std::uint8_t>(sign |
                                   ((rebased + half - 1 + ((rebased >> format.dropped()) & 1u)) >> format.dropped()));
}

/// Which of them a DLDataType.code of 8 bits is; the number of them where it is none.
constexpr std::size_t byte_format_of(int dlpack_code) {
  std::size_t i = 0;
  while (i < std::size(byte_formats) && byte_formats[i].dlpack_code != dlpack_code) ++i;
  return i;
}

/// convert(byte_formats[index]), which the compiler sees as a constant in each branch.
template <std::size_t i = 0, class Convert>
constexpr auto with_byte_format(std::size_t index, const Convert& convert) {
  if constexpr (i + 1 < std::size(byte_formats)) {
    if (index != i) return with_byte_format<i + 1>(index, convert);
  }
  return convert(byte_formats[i]);
}

}  // namespace softcheck::kernels::arithmetic
