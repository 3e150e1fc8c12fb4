// Every dtype is read as the exact numbers it stands for: small formats exhaustively, blocks against a second reading
// that finds each number by itself, and against gguf's own Python.
#include "models/read/element_format.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
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
  EXPECT_EQ(models::find_element_format("Q5_K"), nullptr);
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

TEST(ElementFormat, BlocksAreReadAsASecondReadingReadsThem) {
  std::mt19937_64 random(1);
  struct Case {
    const char* dtype;
    std::vector<std::size_t> scales;
    long double (*number)(const Bits&, std::size_t);
  };
  for (const Case& one :
       {Case{"Q4_0", {0}, q4_0}, Case{"Q8_0", {0}, q8_0}, Case{"Q4_K", {0, 2}, q4_k}, Case{"Q6_K", {208}, q6_k}}) {
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
        ASSERT_EQ(static_cast<long double>(numbers[i]), one.number(block, i % per_block)) << one.dtype << " " << i;
      }
    }
  }
}

TEST(ElementFormat, BlocksAreReadAsGgufsPythonReadsThem) {
  const auto file = models::open_checkpoint(SOFTCHECK_SOURCE_DIR "/proptests/tests/models/blocks.gguf");
  for (const char* dtype : {"Q4_0", "Q8_0", "Q4_K", "Q6_K"}) {
    const models::StoredTensor *tensor = file->find(dtype), *expected = file->find(std::string(dtype) + ".expected");
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
