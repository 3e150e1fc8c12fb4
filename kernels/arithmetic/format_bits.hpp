#pragma once

#include <bit>
#include <cstdint>

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

/// What becomes of a number beyond those of a format of 8 bits: infinity (NaN in e4m3, which has none), or the largest.
enum class Beyond { infinite, saturated };

/// The value of an OCP e4m3 ("e4m3fn"): exponent bias 7, no infinity, NaN if all bits but the sign are ones.
constexpr float e4m3_to_f32(std::uint8_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x80u) << 24;
  const std::uint32_t magnitude = bits & 0x7fu;
  if (magnitude == 0x7fu) return std::bit_cast<float>(sign | 0x7fc00000u);
  if (magnitude < 0x08u) {  // zero and subnormals: magnitude * 2^-9
    const float value = static_cast<float>(magnitude) * 0x1p-9f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << 20) + ((127u - 7u) << 23)));
}

/// Round to nearest even.
constexpr std::uint8_t f32_to_e4m3(float value, Beyond beyond = Beyond::infinite) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 24) & 0x80u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint8_t>(sign | 0x7fu);
  if (magnitude > 0x43e80000u) {  // 464 = 448 + half an ulp: the tie goes to the even side, 448
    return static_cast<std::uint8_t>(sign | (beyond == Beyond::saturated ? 0x7eu : 0x7fu));
  }
  if (magnitude < 0x3c800000u) {  // below 2^-6: a multiple of 2^-9, rounded by an addition to 2^14
    const float shifted = std::bit_cast<float>(magnitude) + 0x1p14f;
    return static_cast<std::uint8_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x46800000u));
  }
  const std::uint32_t rebased = magnitude - ((127u - 7u) << 23);
  return static_cast<std::uint8_t>(sign | ((rebased + 0x7ffffu + ((rebased >> 20) & 1u)) >> 20));
}

/// e5m2 is the upper half of an f16.
constexpr float e5m2_to_f32(std::uint8_t bits) {
  return f16_to_f32(static_cast<std::uint16_t>(static_cast<std::uint16_t>(bits) << 8));
}

/// Round to nearest even, of the f32 itself: through an f16 it would round twice.
constexpr std::uint8_t f32_to_e5m2(float value, Beyond beyond = Beyond::infinite) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 24) & 0x80u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint8_t>(sign | 0x7eu);
  if (magnitude >= 0x47700000u) {  // 61440 = 57344 + half an ulp: the tie goes to the even side, infinity
    return static_cast<std::uint8_t>(sign | (beyond == Beyond::saturated ? 0x7bu : 0x7cu));
  }
  if (magnitude < 0x38800000u) {  // below 2^-14: a multiple of 2^-16, rounded by an addition to 2^7
    const float shifted = std::bit_cast<float>(magnitude) + 0x1p7f;
    return static_cast<std::uint8_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x43000000u));
  }
  const std::uint32_t rebased = magnitude - ((127u - 15u) << 23);
  return static_cast<std::uint8_t>(sign | ((rebased + 0xfffffu + ((rebased >> 21) & 1u)) >> 21));
}

}  // namespace softcheck::kernels::arithmetic
