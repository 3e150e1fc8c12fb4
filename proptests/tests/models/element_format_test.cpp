// Every dtype is read as the exact numbers it stands for: small formats exhaustively, blocks against a second reading
// that finds each number by itself, and against gguf's own Python.
#include "models/read/element_format.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "models/read/checkpoint.hpp"
#include "numerics/formats/format.hpp"
#include "proptests/tests/models/checkpoint_files.hpp"

namespace softcheck::proptests {
namespace {

std::vector<double> decoded(std::string_view dtype, std::string_view bytes) {
  const models::ElementFormat* format = models::find_element_format(dtype);
  if (format == nullptr) return {};
  const auto blocks = static_cast<std::int64_t>(bytes.size()) / format->block_bytes;
  std::vector<double> numbers(static_cast<std::size_t>(blocks * format->block_numbers));
  format->decode(reinterpret_cast<const std::byte*>(bytes.data()), blocks, numbers.data());
  return numbers;
}

TEST(ElementFormat, SmallFormatsAreReadAsTheyAreDefined) {
  using numerics::Format;
  for (const Format format : numerics::all_formats()) {
    const std::string_view dtype = numerics::properties(format).file_name;
    const int bits = numerics::properties(format).storage_bits;
    if (bits > 16) continue;
    std::string bytes;
    for (std::uint64_t pattern = 0; pattern < std::uint64_t{1} << bits; ++pattern) {
      bytes += little_endian(pattern, static_cast<std::size_t>(bits) / 8);
    }
    const std::vector<double> numbers = decoded(dtype, bytes);
    ASSERT_EQ(numbers.size(), std::size_t{1} << bits);
    for (std::uint64_t pattern = 0; pattern < numbers.size(); ++pattern) {
      const double expected = numerics::decode(format, pattern);
      if (std::isfinite(expected)) {
        ASSERT_EQ(numbers[pattern], expected) << dtype << " " << pattern;
      } else {
        ASSERT_FALSE(std::isfinite(numbers[pattern])) << dtype << " " << pattern;
      }
    }
  }
}

TEST(ElementFormat, FloatsAndDoublesAreTaken) {
  const std::vector<float> floats{1.5f, -0x1p-149f, 0x1.fffffep127f, 0.0f};
  EXPECT_EQ(decoded("F32", f32_bytes(floats)), std::vector<double>(floats.begin(), floats.end()));
  const std::vector<double> doubles{1.5, -0x1p-1074, 0x1.fffffffffffffp1023};
  EXPECT_EQ(decoded("F64", bytes_of_values(std::span(doubles))), doubles);
  EXPECT_EQ(models::find_element_format("IQ2_XXS"), nullptr);
}

// A block as a list of bits, the lowest first: the second reading takes fields out of it.
struct Bits {
  std::string_view block;

  int field(std::size_t bit, int width) const {
    int value = 0;
    for (int i = width; i-- > 0;) {
      const std::size_t at = bit + static_cast<std::size_t>(i);
      value = value << 1 | (static_cast<unsigned char>(block[at / 8]) >> at % 8 & 1);
    }
    return value;
  }
  int signed_byte(std::size_t byte) const {
    const int value = field(8 * byte, 8);
    return value < 128 ? value : value - 256;
  }
  long double half(std::size_t byte) const {
    return numerics::decode(numerics::Format::f16, static_cast<std::uint64_t>(field(8 * byte, 16)));
  }
};

long double q4_0(const Bits& block, std::size_t i) {
  return block.half(0) * (block.field(16 + 8 * (i % 16) + 4 * (i / 16), 4) - 8);
}

long double q8_0(const Bits& block, std::size_t i) { return block.half(0) * block.signed_byte(2 + i); }

long double q4_k(const Bits& block, std::size_t i) {
  const std::size_t part = i / 32, bits = 8 * (16 + i / 64 * 32 + i % 32) + 4 * (part % 2);
  int scale = 0, minimum = 0;
  if (part < 4) {
    scale = block.field(8 * (4 + part), 6);
    minimum = block.field(8 * (8 + part), 6);
  } else {
    scale = block.field(8 * (8 + part), 4) + 16 * block.field(8 * part + 6, 2);
    minimum = block.field(8 * (8 + part) + 4, 4) + 16 * block.field(8 * (4 + part) + 6, 2);
  }
  return block.half(0) * scale * block.field(bits, 4) - block.half(2) * minimum;
}

long double q6_k(const Bits& block, std::size_t i) {
  const std::size_t half = i / 128, j = i % 128, quarter = j / 32;
  const int low = block.field(8 * (64 * half + j % 64) + 4 * (quarter / 2), 4);
  const int high = block.field(8 * (128 + 32 * half + j % 32) + 2 * quarter, 2);
  return block.half(208) * block.signed_byte(192 + i / 16) * (low + 16 * high - 32);
}

// Q4_K's scales and minima and the sixteen of Q3_K, as bits of a 12 byte table that begins at a byte.
struct SixBits {
  const Bits& block;
  std::size_t byte;

  int scale(std::size_t part) const {
    if (part < 4) return block.field(8 * (byte + part), 6);
    return block.field(8 * (byte + 4 + part), 4) + 16 * block.field(8 * (byte + part - 4) + 6, 2);
  }
  int minimum(std::size_t part) const {
    if (part < 4) return block.field(8 * (byte + 4 + part), 6);
    return block.field(8 * (byte + 4 + part) + 4, 4) + 16 * block.field(8 * (byte + part) + 6, 2);
  }
  int of_sixteen(std::size_t part) const {
    return block.field(8 * (byte + part % 8) + 4 * (part / 8), 4) +
           16 * block.field(8 * (byte + 8 + part % 4) + 2 * (part / 4), 2);
  }
};

// The nibble of number i of 32 behind a byte.
int nibble(const Bits& block, std::size_t byte, std::size_t i) {
  return block.field(8 * (byte + i % 16) + 4 * (i / 16), 4);
}

long double q4_1(const Bits& block, std::size_t i) { return block.half(0) * nibble(block, 4, i) + block.half(2); }

long double q5_0(const Bits& block, std::size_t i) {
  return block.half(0) * (nibble(block, 6, i) + 16 * block.field(16 + i, 1) - 16);
}

long double q5_1(const Bits& block, std::size_t i) {
  return block.half(0) * (nibble(block, 8, i) + 16 * block.field(32 + i, 1)) + block.half(2);
}

// Pairs of K-quants of two and three bits: 32 bytes hold numbers i, i + 32, i + 64 and i + 96 of 128.
int k_pair(const Bits& block, std::size_t byte, std::size_t i) {
  return block.field(8 * (byte + i / 128 * 32 + i % 32) + i / 32 % 4 * 2, 2);
}

long double q2_k(const Bits& block, std::size_t i) {
  return block.half(80) * block.field(8 * (i / 16), 4) * k_pair(block, 16, i) -
         block.half(82) * block.field(8 * (i / 16) + 4, 4);
}

long double q3_k(const Bits& block, std::size_t i) {
  const int third = block.field(8 * (i % 32) + i / 32, 1);
  return block.half(108) * (SixBits{block, 96}.of_sixteen(i / 16) - 32) * (k_pair(block, 32, i) - (third ? 0 : 4));
}

long double q5_k(const Bits& block, std::size_t i) {
  const std::size_t part = i / 32;
  const int low = block.field(8 * (48 + part / 2 * 32 + i % 32) + 4 * (part % 2), 4);
  const int high = block.field(8 * (16 + i % 32) + part, 1);
  const SixBits factors{block, 4};
  return block.half(0) * factors.scale(part) * (low + 16 * high) - block.half(2) * factors.minimum(part);
}

// The step of a nibble of IQ4_NL, as a sum of the gaps before it.
int widening_step(int index) {
  int step = -127;
  for (const int gap : {23, 21, 18, 16, 14, 13, 12, 11, 12, 12, 13, 15, 16, 20, 24}) {
    if (index-- == 0) break;
    step += gap;
  }
  return step;
}

long double iq4_nl(const Bits& block, std::size_t i) { return block.half(0) * widening_step(nibble(block, 2, i)); }

long double iq4_xs(const Bits& block, std::size_t i) {
  const std::size_t part = i / 32;
  const int scale = block.field(32 + 4 * part, 4) + 16 * block.field(16 + 2 * part, 2) - 32;
  return block.half(0) * scale * widening_step(nibble(block, 8 + 16 * part, i % 32));
}

long double mxfp4(const Bits& block, std::size_t i) {
  const int bits = nibble(block, 1, i), exponent = bits >> 1 & 3, fraction = bits & 1;
  const long double magnitude = exponent == 0 ? fraction / 2.0L : std::ldexp(1 + fraction / 2.0L, exponent - 1);
  return std::ldexp(bits < 8 ? magnitude : -magnitude, block.field(0, 8) - 127);
}

// A byte is the fraction of 256 above its five digits to base 3 over 243.
long double tq1_0(const Bits& block, std::size_t i) {
  std::size_t byte = i % 32, digit = i / 32;
  if (i >= 160) byte = 32 + i % 16, digit = (i - 160) / 16;
  if (i >= 240) byte = 48 + i % 4, digit = (i - 240) / 4;
  int fraction = block.field(8 * byte, 8), number = 0;
  for (std::size_t at = 0; at <= digit; ++at) {
    number = fraction * 3 >> 8;
    fraction = fraction * 3 & 255;
  }
  return block.half(52) * (number - 1);
}

long double tq2_0(const Bits& block, std::size_t i) { return block.half(64) * (k_pair(block, 0, i) - 1); }

struct BlockType {
  const char* dtype;
  std::vector<std::size_t> scales;  // bytes where a scale of 16 bits begins
  long double (*number)(const Bits&, std::size_t);
};

const std::vector<BlockType> block_types{{"Q4_0", {0}, q4_0},    {"Q4_1", {0, 2}, q4_1},  {"Q5_0", {0}, q5_0},
                                         {"Q5_1", {0, 2}, q5_1}, {"Q8_0", {0}, q8_0},     {"Q2_K", {80, 82}, q2_k},
                                         {"Q3_K", {108}, q3_k},  {"Q4_K", {0, 2}, q4_k},  {"Q5_K", {0, 2}, q5_k},
                                         {"Q6_K", {208}, q6_k},  {"IQ4_NL", {0}, iq4_nl}, {"IQ4_XS", {0}, iq4_xs},
                                         {"TQ1_0", {52}, tq1_0}, {"TQ2_0", {64}, tq2_0},  {"MXFP4", {}, mxfp4}};

TEST(ElementFormat, EveryBlockFormatHasASecondReading) {
  std::vector<std::string> names;
  for (const BlockType& one : block_types) names.emplace_back(one.dtype);
  for (const models::ElementFormat& format : models::block_formats()) {
    EXPECT_NE(std::find(names.begin(), names.end(), format.dtype), names.end()) << format.dtype;
  }
  EXPECT_EQ(models::block_formats().size(), names.size());
}

void expect_second_reading(const BlockType& one, std::mt19937_64& random) {
  const models::ElementFormat& format = *models::find_element_format(one.dtype);
  const auto size = static_cast<std::size_t>(format.block_bytes);
  for (int draw = 0; draw < 400; ++draw) {
    std::string bytes = drawn_bytes(2 * size, random);
    // Scales from the least to the largest: no product of any two loses a bit.
    for (std::size_t block = 0; block < 2; ++block) {
      for (const std::size_t place : one.scales) {
        const std::uint64_t kinds[] = {random() % 0x7c00, random() % 0x400, 0x7bff, 1};
        bytes.replace(block * size + place, 2, little_endian(kinds[random() % 4] | (random() % 2 << 15), 2));
      }
    }
    const std::vector<double> numbers = decoded(one.dtype, bytes);
    const auto per_block = static_cast<std::size_t>(format.block_numbers);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const Bits block{std::string_view(bytes).substr(i / per_block * size, size)};
      if (one.scales.empty() && block.field(0, 8) == 255) {
        ASSERT_TRUE(std::isnan(numbers[i])) << one.dtype << " " << i;
        continue;
      }
      ASSERT_EQ(static_cast<long double>(numbers[i]), one.number(block, i % per_block)) << one.dtype << " " << i;
    }
  }
}

TEST(ElementFormat, BlocksAreReadAsASecondReadingReadsThem) {
  std::mt19937_64 random(1);
  for (const BlockType& one : block_types) expect_second_reading(one, random);
}

TEST(ElementFormat, BlocksAreReadAsGgufsPythonReadsThem) {
  const auto file = models::open_checkpoint(SOFTCHECK_SOURCE_DIR "/proptests/tests/models/blocks.gguf");
  for (const BlockType& one : block_types) {
    const std::string dtype = one.dtype;
    const models::StoredTensor *tensor = file->find(dtype), *expected = file->find(dtype + ".expected");
    ASSERT_TRUE(tensor != nullptr && expected != nullptr) << dtype;
    ASSERT_EQ(tensor->shape, (std::vector<std::int64_t>{2, 512}));
    ASSERT_EQ(tensor->dtype, dtype);
    const Eigen::MatrixXd got = file->read(*tensor, {0, 2}, {0, 512}).values;
    // gguf computes in floats, and its products are exact: it rounds the number once.
    EXPECT_EQ(got.cast<float>().cast<double>(), file->read(*expected, {0, 2}, {0, 512}).values) << dtype;
  }
  EXPECT_EQ(file->config().integer("blocks.block_count"), 3);
  EXPECT_EQ(file->config().number("blocks.eps"), static_cast<double>(1e-5f));
  EXPECT_EQ(file->config().boolean("blocks.yes"), true);
  EXPECT_EQ(file->config().numbers("blocks.widths"), (std::vector<double>{3, 1, 2}));
  EXPECT_EQ(file->config().texts("blocks.words"), (std::vector<std::string>{"one", "two"}));
  EXPECT_FALSE(file->config().has("tokenizer.ggml.tokens"));
}

}  // namespace
}  // namespace softcheck::proptests
