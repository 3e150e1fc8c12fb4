// The sizes in a GGUF file: a wrong one shows where the next thing begins.
#include "models/read/gguf_header.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/read/checkpoint.hpp"
#include "proptests/tests/models/checkpoint_files.hpp"

namespace softcheck::proptests {
namespace {

models::GgufHeader header_of(const GgufFile& file) {
  const std::string bytes = file.bytes();
  return models::read_gguf_header(models::bytes_at_hand(std::as_bytes(std::span(bytes))), "some.gguf");
}

// The parts of a block as ggml-common.h declares them; half is a scale of 16 bits.
TEST(GgufHeader, ABlockOfEachTypeTakesItsBytes) {
  constexpr std::uint64_t half = 2, all = 256;
  struct Type {
    unsigned number;
    std::string name;
    std::uint64_t numbers, bytes;
  };
  const std::vector<Type> types{{0, "F32", 1, 4},
                                {1, "F16", 1, 2},
                                {2, "Q4_0", 32, half + 32 / 2},
                                {3, "Q4_1", 32, 2 * half + 32 / 2},
                                {6, "Q5_0", 32, half + 32 / 8 + 32 / 2},
                                {7, "Q5_1", 32, 2 * half + 32 / 8 + 32 / 2},
                                {8, "Q8_0", 32, half + 32},
                                {10, "Q2_K", all, all / 16 + all / 4 + 2 * half},
                                {11, "Q3_K", all, all / 8 + all / 4 + 12 + half},
                                {12, "Q4_K", all, 2 * half + 12 + all / 2},
                                {13, "Q5_K", all, 2 * half + 12 + all / 8 + all / 2},
                                {14, "Q6_K", all, all / 2 + all / 4 + all / 16 + half},
                                {15, "Q8_K", all, 4 + all + all / 16 * 2},
                                {16, "IQ2_XXS", all, half + all / 8 * 2},
                                {17, "IQ2_XS", all, half + all / 8 * 2 + all / 32},
                                {18, "IQ3_XXS", all, half + 3 * all / 8},
                                {19, "IQ1_S", all, half + all / 8 + all / 32 * 2},
                                {20, "IQ4_NL", 32, half + 32 / 2},
                                {21, "IQ3_S", all, half + all / 4 + all / 32 + all / 8 + all / 64},
                                {22, "IQ2_S", all, half + all / 4 + all / 32 + all / 32},
                                {23, "IQ4_XS", all, half + 2 + all / 64 + all / 2},
                                {24, "I8", 1, 1},
                                {25, "I16", 1, 2},
                                {26, "I32", 1, 4},
                                {27, "I64", 1, 8},
                                {28, "F64", 1, 8},
                                {29, "IQ1_M", all, all / 8 + all / 16 + all / 32},
                                {30, "BF16", 1, 2},
                                {34, "TQ1_0", all, half + all / 64 + (all - 4 * all / 64) / 5},
                                {35, "TQ2_0", all, half + all / 4},
                                {39, "MXFP4", 32, 1 + 32 / 2},
                                {40, "NVFP4", 64, 64 / 16 + 64 / 2},
                                {41, "Q1_0", 128, half + 128 / 8}};
  for (const Type& type : types) {
    for (const int wrong : {-1, 0, 1}) {
      GgufFile file;
      file.alignment = 1;
      file.key("general.alignment", GgufFile::u32, little_endian(1, 4));
      file.tensor("blocks", type.number, {2, type.numbers}, std::string(2 * type.bytes + wrong, '\0'));
      file.tensor("next", 0, {1}, f32_bytes({1}));
      if (wrong != 0) {
        EXPECT_THROW(header_of(file), models::TensorFileError) << type.name << " " << wrong;
        continue;
      }
      const models::GgufHeader header = header_of(file);
      EXPECT_EQ(header.tensors.at(0).tensor.dtype, type.name);
      EXPECT_EQ(header.tensors.at(1).begin, header.tensors.at(0).begin + 2 * type.bytes) << type.name;
    }
  }
}

// What a tokenizer has is not kept; the key behind it is.
TEST(GgufHeader, AValueThatIsNotKeptTakesItsBytes) {
  const std::vector<std::pair<unsigned, std::string>> values{
      {0, little_endian(7, 1)}, {1, little_endian(7, 1)},  {2, little_endian(7, 2)},  {3, little_endian(7, 2)},
      {4, little_endian(7, 4)}, {5, little_endian(7, 4)},  {6, f32_bytes({7})},       {7, "\1"},
      {8, gguf_text("seven")},  {10, little_endian(7, 8)}, {11, little_endian(7, 8)}, {12, little_endian(7, 8)}};
  for (const auto& [type, value] : values) {
    for (const int many : {-1, 0, 1, 3}) {  // -1: the value alone, no array
      GgufFile file;
      std::string bytes =
          many < 0 ? value : little_endian(type, 4) + little_endian(static_cast<std::uint64_t>(many), 8);
      for (int i = 0; i < many; ++i) bytes += value;
      file.key("tokenizer.ggml.some", many < 0 ? type : GgufFile::array, bytes);
      file.key("some.block_count", GgufFile::u32, little_endian(2, 4));
      const models::GgufHeader header = header_of(file);
      ASSERT_EQ(header.keys.size(), 1U) << type << " " << many;
      EXPECT_EQ(header.keys[0].first, "some.block_count") << type << " " << many;
    }
  }
}

}  // namespace
}  // namespace softcheck::proptests
