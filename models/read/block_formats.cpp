
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "models/read/element_format.hpp"

namespace softcheck::models {
namespace {

template <typename T>
T field_at(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

int low_nibble(std::byte byte) { return std::to_integer<int>(byte & std::byte{15}); }
int high_nibble(std::byte byte) { return std::to_integer<int>(byte >> 4); }

// 32 numbers: f16 d, then 16 bytes; the low nibbles are the first 16 numbers. d (nibble - 8).
void decode_q4_0(const std::byte* block, std::int64_t count, double* numbers) {
  for (; count > 0; --count, block += 18, numbers += 32) {
    const double d = f16_number(block);
    for (int i = 0; i < 16; ++i) {
      numbers[i] = d * (low_nibble(block[2 + i]) - 8);
      numbers[16 + i] = d * (high_nibble(block[2 + i]) - 8);
    }
  }
}

// 32 numbers: f16 d and m, then nibbles as those of Q4_0. d nibble + m.
void decode_q4_1(const std::byte* block, std::int64_t count, double* numbers) {
  for (; count > 0; --count, block += 20, numbers += 32) {
    const double d = f16_number(block), m = f16_number(block + 2);
    for (int i = 0; i < 16; ++i) {
      numbers[i] = d * low_nibble(block[4 + i]) + m;
      numbers[16 + i] = d * high_nibble(block[4 + i]) + m;
    }
  }
}

// 32 numbers of 5 bits: four bytes of upper bits, the first number's lowest, then nibbles as those of Q4_0.
template <typename Number>
void decode_five_bits(const std::byte* block, double* numbers, const Number& number) {
  const auto upper = field_at<std::uint32_t>(block);
  for (int i = 0; i < 16; ++i) {
    numbers[i] = number(low_nibble(block[4 + i]) | (upper >> i & 1) << 4);
    numbers[16 + i] = number(high_nibble(block[4 + i]) | (upper >> (16 + i) & 1) << 4);
  }
}

// f16 d. d (5 bits - 16).
void decode_q5_0(const std::byte* block, std::int64_t count, double* numbers) {
  for (; count > 0; --count, block += 22, numbers += 32) {
    const double d = f16_number(block);
    decode_five_bits(block + 2, numbers, [&](std::uint32_t bits) { return d * (static_cast<int>(bits) - 16); });
  }
}

// f16 d and m. d (5 bits) + m.
void decode_q5_1(const std::byte* block, std::int64_t count, double* numbers) {
  for (; count > 0; --count, block += 24, numbers += 32) {
    const double d = f16_number(block), m = f16_number(block + 2);
    decode_five_bits(block + 4, numbers, [&](std::uint32_t bits) { return d * static_cast<int>(bits) + m; });
  }
}

using Codebook = std::array<std::int8_t, 16>;

// ggml's kvalues_iq4nl: steps that widen outwards.
constexpr Codebook widening_steps{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
// E2M1, twice.
constexpr Codebook doubled_e2m1{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// 32 numbers: nibbles as those of Q4_0, each the index of a step.
void decode_steps(const std::byte* nibbles, double scale, const Codebook& steps, double* numbers) {
  for (int i = 0; i < 16; ++i) {
    numbers[i] = scale * steps[static_cast<std::size_t>(low_nibble(nibbles[i]))];
    numbers[16 + i] = scale * steps[static_cast<std::size_t>(high_nibble(nibbles[i]))];
  }
}

void decode_iq4_nl(const std::byte* block, std::int64_t count, double* numbers) {
  for (; count > 0; --count, block += 18, numbers += 32) {
    decode_steps(block + 2, f16_number(block), widening_steps, numbers);
  }
}

// OCP's MX: a byte e that stands for 2^(e - 127), 255 for NaN, then 32 numbers of E2M1.
void decode_mxfp4(const std::byte* block, std::int64_t count, double* numbers) {
  for (; count > 0; --count, block += 17, numbers += 32) {
    const int exponent = std::to_integer<int>(block[0]);
    const double scale =
        exponent == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, exponent - 127 - 1);
    decode_steps(block + 1, scale, doubled_e2m1, numbers);
  }
}

// 256 numbers in eight parts of 32: f16 d, 16 bits and 4 bytes of scales, whose parts of 2 and 4 bits are the upper and
// lower bits of a scale from the lowest on; then 16 bytes of nibbles for each part. d (scale - 32) step.
void decode_iq4_xs(const std::byte* block, std::int64_t count, double* numbers) {
  for (; count > 0; --count, block += 136) {
    const double d = f16_number(block);
    const auto upper = field_at<std::uint16_t>(block + 2);
    for (int part = 0; part < 8; ++part, numbers += 32) {
      const std::byte lower = block[4 + part / 2];
      const int scale = (part % 2 == 0 ? low_nibble(lower) : high_nibble(lower)) | (upper >> (2 * part) & 3) << 4;
      decode_steps(block + 8 + 16 * part, d * (scale - 32), widening_steps, numbers);
    }
  }
}

// 32 numbers: f16 d, then 32 signed bytes.
void decode_q8_0(const std::byte* block, std::int64_t count, double* numbers) {
  for (; count > 0; --count, block += 34, numbers += 32) {
    const double d = f16_number(block);
    for (int i = 0; i < 32; ++i) numbers[i] = d * std::to_integer<std::int8_t>(block[2 + i]);
  }
}

struct ScaleAndMinimum {
  int scale, minimum;
};

// Q4_K and Q5_K: eight scales and eight minima of 6 bits in 12 bytes: of the first four the lower 6 bits of bytes 0 ..
// 3 and 4 .. 7; of the others the nibbles of bytes 8 .. 11 below the upper 2 bits of bytes 0 .. 3 and 4 .. 7.
ScaleAndMinimum scale_and_minimum(const std::byte* bytes, int part) {
  const auto lower = [&](int at) { return std::to_integer<int>(bytes[at] & std::byte{63}); };
  const auto upper = [&](int at) { return std::to_integer<int>(bytes[at] >> 6) << 4; };
  if (part < 4) return {lower(part), lower(part + 4)};
  return {low_nibble(bytes[part + 4]) | upper(part - 4), high_nibble(bytes[part + 4]) | upper(part)};
}

// 256 numbers in eight parts of 32: f16 d and dmin, 12 bytes of scales and minima, 128 bytes of nibbles; the low
// nibbles of 32 bytes are one part, the high ones the next. d scale nibble - dmin minimum, which is exact: an integer
// times 2^-24 and below 2^27.
void decode_q4_k(const std::byte* block, std::int64_t count, double* numbers) {
  for (; count > 0; --count, block += 144) {
    const double d = f16_number(block), dmin = f16_number(block + 2);
    const std::byte* nibbles = block + 16;
    for (int part = 0; part < 8; part += 2, nibbles += 32, numbers += 64) {
      const ScaleAndMinimum first = scale_and_minimum(block + 4, part), second = scale_and_minimum(block + 4, part + 1);
      const double d1 = d * first.scale, m1 = dmin * first.minimum;
      const double d2 = d * second.scale, m2 = dmin * second.minimum;
      for (int i = 0; i < 32; ++i) {
        numbers[i] = d1 * low_nibble(nibbles[i]) - m1;
        numbers[32 + i] = d2 * high_nibble(nibbles[i]) - m2;
      }
    }
  }
}

// As Q4_K, with 32 bytes of fifth bits before the nibbles: bit p of byte i belongs to number i of part p.
void decode_q5_k(const std::byte* block, std::int64_t count, double* numbers) {
  for (; count > 0; --count, block += 176) {
    const double d = f16_number(block), dmin = f16_number(block + 2);
    for (int part = 0; part < 8; ++part, numbers += 32) {
      const ScaleAndMinimum factors = scale_and_minimum(block + 4, part);
      const double scale = d * factors.scale, minimum = dmin * factors.minimum;
      const std::byte *fifth = block + 16, *nibbles = block + 48 + 32 * (part / 2);
      for (int i = 0; i < 32; ++i) {
        const int nibble = part % 2 == 0 ? low_nibble(nibbles[i]) : high_nibble(nibbles[i]);
        numbers[i] = scale * (nibble | (std::to_integer<int>(fifth[i]) >> part & 1) << 4) - minimum;
      }
    }
  }
}

int bit_pair(std::byte byte, int pair) { return std::to_integer<int>(byte >> (2 * pair)) & 3; }

// 256 numbers in sixteen parts of 16: 16 bytes whose nibbles are a part's scale and minimum, 64 bytes of bit pairs,
// f16 d and dmin. d scale pair - dmin minimum. Parts 2k and 2k + 1 take one of the four pairs of 32 bytes.
void decode_q2_k(const std::byte* block, std::int64_t count, double* numbers) {
  for (; count > 0; --count, block += 84) {
    const double d = f16_number(block + 80), dmin = f16_number(block + 82);
    for (int part = 0; part < 16; ++part, numbers += 16) {
      const double scale = d * low_nibble(block[part]), minimum = dmin * high_nibble(block[part]);
      const std::byte* pairs = block + 16 + 32 * (part / 8) + 16 * (part % 2);
      for (int i = 0; i < 16; ++i) numbers[i] = scale * bit_pair(pairs[i], part / 2 % 4) - minimum;
    }
  }
}

// 256 numbers in sixteen parts of 16, placed as those of Q2_K: 32 bytes of third bits, 64 of bit pairs, 12 of scales,
// f16 d. d (scale - 32) (3 bits - 4). Scales have 6 bits: the nibbles of eight bytes, low ones first, below bit pairs.
void decode_q3_k(const std::byte* block, std::int64_t count, double* numbers) {
  for (; count > 0; --count, block += 110) {
    const double d = f16_number(block + 108);
    const std::byte* scales = block + 96;
    for (int part = 0; part < 16; ++part, numbers += 16) {
      const int lower = part < 8 ? low_nibble(scales[part]) : high_nibble(scales[part - 8]);
      const double scale = d * ((lower | bit_pair(scales[8 + part % 4], part / 4) << 4) - 32);
      const std::byte *third = block + 16 * (part % 2), *pairs = block + 32 + 32 * (part / 8) + 16 * (part % 2);
      for (int i = 0; i < 16; ++i) {
        const int upper = std::to_integer<int>(third[i]) >> (part / 2) & 1;
        numbers[i] = scale * ((bit_pair(pairs[i], part / 2 % 4) | upper << 2) - 4);
      }
    }
  }
}

// 256 numbers in two halves: 128 bytes of lower nibbles, 64 bytes of upper bit pairs, a signed byte of scale for each
// 16 numbers, f16 d. d scale (6 bits - 32). The four quarters of a half take the low nibbles of its first and second 32
// bytes, then their high ones, and the bit pairs from the lowest on.
void decode_q6_k(const std::byte* block, std::int64_t count, double* numbers) {
  for (; count > 0; --count, block += 210) {
    const double d = f16_number(block + 208);
    for (int half = 0; half < 2; ++half, numbers += 128) {
      const std::byte *low = block + 64 * half, *high = block + 128 + 32 * half, *scales = block + 192 + 8 * half;
      for (int quarter = 0; quarter < 4; ++quarter) {
        for (int i = 0; i < 32; ++i) {
          const std::byte byte = low[32 * (quarter % 2) + i];
          const int nibble = quarter < 2 ? low_nibble(byte) : high_nibble(byte);
          const int pair = std::to_integer<int>((high[i] >> (2 * quarter)) & std::byte{3});
          const double scale = d * std::to_integer<std::int8_t>(scales[2 * quarter + i / 16]);
          numbers[32 * quarter + i] = scale * ((nibble | pair << 4) - 32);
        }
      }
    }
  }
}

// 256 numbers of -1, 0, 1 times f16 d, which is last. A byte is a fraction of 256ths: its first digit to base 3 is a
// number, what lies behind the point of its threefold the next. 32 and 16 bytes have five numbers each, 4 have four;
// a digit of all bytes of a group comes before the next digit.
void decode_tq1_0(const std::byte* block, std::int64_t count, double* numbers) {
  struct Group {
    int first, bytes, digits;
  };
  for (; count > 0; --count, block += 54) {
    const double d = f16_number(block + 52);
    for (const Group& group : {Group{0, 32, 5}, Group{32, 16, 5}, Group{48, 4, 4}}) {
      for (int digit = 0, power = 1; digit < group.digits; ++digit, power *= 3, numbers += group.bytes) {
        for (int i = 0; i < group.bytes; ++i) {
          const int fraction = std::to_integer<int>(block[group.first + i]) * power % 256;
          numbers[i] = d * (fraction * 3 / 256 - 1);
        }
      }
    }
  }
}

// 256 numbers: 64 bytes of bit pairs, f16 d. d (pair - 1). A pair of 32 bytes comes before their next pair.
void decode_tq2_0(const std::byte* block, std::int64_t count, double* numbers) {
  for (; count > 0; --count, block += 66) {
    const double d = f16_number(block + 64);
    for (int part = 0; part < 8; ++part, numbers += 32) {
      for (int i = 0; i < 32; ++i) numbers[i] = d * (bit_pair(block[32 * (part / 4) + i], part % 4) - 1);
    }
  }
}

const std::array<ElementFormat, 15> formats{{{"Q4_0", 32, 18, decode_q4_0},
                                             {"Q4_1", 32, 20, decode_q4_1},
                                             {"Q5_0", 32, 22, decode_q5_0},
                                             {"Q5_1", 32, 24, decode_q5_1},
                                             {"Q8_0", 32, 34, decode_q8_0},
                                             {"Q2_K", 256, 84, decode_q2_k},
                                             {"Q3_K", 256, 110, decode_q3_k},
                                             {"Q4_K", 256, 144, decode_q4_k},
                                             {"Q5_K", 256, 176, decode_q5_k},
                                             {"Q6_K", 256, 210, decode_q6_k},
                                             {"IQ4_NL", 32, 18, decode_iq4_nl},
                                             {"IQ4_XS", 256, 136, decode_iq4_xs},
                                             {"TQ1_0", 256, 54, decode_tq1_0},
                                             {"TQ2_0", 256, 66, decode_tq2_0},
                                             {"MXFP4", 32, 17, decode_mxfp4}}};

}  // namespace

std::span<const ElementFormat> block_formats() { return formats; }

}  // namespace softcheck::models
