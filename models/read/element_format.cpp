#include "models/read/element_format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "numerics/format.hpp"

namespace softcheck::models {
namespace {

using numerics::Format;

template <class Stored>
Stored load(const std::byte* at) {
  Stored value;
  std::memcpy(&value, at, sizeof(Stored));
  return value;
}

// Little-endian, as every machine that this is built for.
template <class Float>
double decode_float(std::span<const std::byte> blocks, std::span<double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = load<Float>(blocks.data() + i * sizeof(Float));
  return 0;
}

double decode_bf16(std::span<const std::byte> blocks, std::span<double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t bits = std::uint32_t{load<std::uint16_t>(blocks.data() + 2 * i)} << 16;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    values[i] = value;
  }
  return 0;
}

std::vector<double> table_of(Format format) {
  std::vector<double> table(std::size_t{1} << numerics::properties(format).storage_bits);
  for (std::size_t bits = 0; bits < table.size(); ++bits) table[bits] = numerics::decode(format, bits);
  return table;
}

const std::vector<double>& f16_table() {
  static const std::vector<double> table = table_of(Format::f16);
  return table;
}

double decode_f16(std::span<const std::byte> blocks, std::span<double> values) {
  const std::vector<double>& table = f16_table();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = table[load<std::uint16_t>(blocks.data() + 2 * i)];
  return 0;
}

template <Format format>
double decode_byte(std::span<const std::byte> blocks, std::span<double> values) {
  static const std::vector<double> table = table_of(format);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = table[std::to_integer<std::size_t>(blocks[i])];
  return 0;
}

double f16_at(const std::byte* at) { return f16_table()[load<std::uint16_t>(at)]; }

// The block formats of GGUF: docs of ggml, ggml-common.h and ggml-quants.c. Every product below has at most 11 + 8
// significant bits, every difference at most 30: both are doubles unless the scales lie 2^30 apart.

// A scale and 32 signed bytes.
double decode_q8_0(std::span<const std::byte> blocks, std::span<double> values) {
  for (std::size_t block = 0; block * 32 < values.size(); ++block) {
    const std::byte* at = blocks.data() + block * 34;
    const double scale = f16_at(at);
    for (std::size_t i = 0; i < 32; ++i) {
      values[block * 32 + i] = scale * static_cast<double>(load<std::int8_t>(at + 2 + i));
    }
  }
  return 0;
}

// A scale and 32 nibbles less 8; the low ones are the first sixteen.
double decode_q4_0(std::span<const std::byte> blocks, std::span<double> values) {
  for (std::size_t block = 0; block * 32 < values.size(); ++block) {
    const std::byte* at = blocks.data() + block * 18;
    const double scale = f16_at(at);
    for (std::size_t i = 0; i < 16; ++i) {
      const int both = std::to_integer<int>(at[2 + i]);
      values[block * 32 + i] = scale * ((both & 15) - 8);
      values[block * 32 + 16 + i] = scale * ((both >> 4) - 8);
    }
  }
  return 0;
}

struct ScaleAndMin {
  int scale, min;
};

// Eight pairs of six bits in twelve bytes: the first four lie in the low six bits of bytes 0-3 and 4-7; the last four
// have their low nibbles in bytes 8-11 and their high two bits on top of the first eight bytes.
ScaleAndMin six_bits(const std::byte* packed, std::size_t group) {
  const auto byte = [&](std::size_t i) { return std::to_integer<int>(packed[i]); };
  if (group < 4) return {byte(group) & 63, byte(group + 4) & 63};
  return {(byte(group + 4) & 15) | (byte(group - 4) >> 6) << 4, (byte(group + 4) >> 4) | (byte(group) >> 6) << 4};
}

// 256 numbers d sc q - dmin m: eight groups of 32, two of them in the low and high nibbles of the same 32 bytes.
double decode_q4_k(std::span<const std::byte> blocks, std::span<double> values) {
  double radius = 0;
  for (std::size_t block = 0; block * 256 < values.size(); ++block) {
    const std::byte* at = blocks.data() + block * 144;
    const double d = f16_at(at), d_min = f16_at(at + 2);
    for (std::size_t group = 0; group < 8; ++group) {
      const auto [scale, min] = six_bits(at + 4, group);
      const double step = d * scale, below = d_min * min;
      const std::byte* nibbles = at + 16 + group / 2 * 32;
      for (std::size_t i = 0; i < 32; ++i) {
        const int both = std::to_integer<int>(nibbles[i]);
        const double q = group % 2 == 0 ? both & 15 : both >> 4;
        const double value = step * q - below;
        // Knuth's two-sum: what the difference lost, exactly.
        const double back = value - step * q;
        const double lost = (step * q - (value - back)) + (-below - back);
        radius = std::max(radius, std::fabs(lost));
        values[block * 256 + group * 32 + i] = value;
      }
    }
  }
  return radius;
}

// 256 numbers d sc (q - 32): four low bits, two high ones, a signed scale a sixteen, d last.
double decode_q6_k(std::span<const std::byte> blocks, std::span<double> values) {
  for (std::size_t block = 0; block * 256 < values.size(); ++block) {
    const std::byte* at = blocks.data() + block * 210;
    const double d = f16_at(at + 208);
    for (std::size_t half = 0; half < 2; ++half) {
      const std::byte *low = at + 64 * half, *high = at + 128 + 32 * half, *scales = at + 192 + 8 * half;
      for (std::size_t quarter = 0; quarter < 4; ++quarter) {
        for (std::size_t i = 0; i < 32; ++i) {
          const int nibbles = std::to_integer<int>(low[32 * (quarter % 2) + i]);
          const int top = std::to_integer<int>(high[i]) >> (2 * quarter) & 3;
          const int q = (quarter < 2 ? nibbles & 15 : nibbles >> 4) | top << 4;
          const double scale = load<std::int8_t>(scales + 2 * quarter + i / 16);
          values[block * 256 + half * 128 + quarter * 32 + i] = d * scale * (q - 32);
        }
      }
    }
  }
  return 0;
}

constexpr std::array<ElementFormat, 10> formats{{{"F64", 1, 8, decode_float<double>},
                                                 {"F32", 1, 4, decode_float<float>},
                                                 {"F16", 1, 2, decode_f16},
                                                 {"BF16", 1, 2, decode_bf16},
                                                 {"F8_E4M3", 1, 1, decode_byte<Format::e4m3>},
                                                 {"F8_E5M2", 1, 1, decode_byte<Format::e5m2>},
                                                 {"Q8_0", 32, 34, decode_q8_0},
                                                 {"Q4_0", 32, 18, decode_q4_0},
                                                 {"Q4_K", 256, 144, decode_q4_k},
                                                 {"Q6_K", 256, 210, decode_q6_k}}};

}  // namespace

const ElementFormat* element_format(std::string_view dtype) {
  for (const ElementFormat& format : formats) {
    if (format.dtype == dtype) return &format;
  }
  return nullptr;
}

}  // namespace softcheck::models
