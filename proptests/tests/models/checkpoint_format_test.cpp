// A configuration answers by path, and refuses a value of another kind by its key.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "models/read/checkpoint.hpp"
#include "models/read/config.hpp"
#include "models/read/file_errors.hpp"
#include "models/read/gguf_header.hpp"
#include "proptests/tests/models/checkpoint_files.hpp"

namespace softcheck::proptests {
namespace {

using models::Config;
using ::testing::HasSubstr;

std::string config_refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const models::TensorFileError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(CheckpointConfig, AnswersByPath) {
  const Config config = Config::parse(
      R"({"a": 1, "b": {"c": 2.5, "d": {"e": "x"}}, "b.d": 7, "n": null, "t": true, "v": [1, 2.5], "w": ["p", "q"]})",
      "c");
  EXPECT_EQ(config.integer("a"), 1);
  EXPECT_EQ(config.number("a"), 1);
  EXPECT_EQ(config.number("b.c"), 2.5);
  EXPECT_EQ(config.integer("b.d"), 7);  // the whole path first
  EXPECT_EQ(config.text("b.d.e"), "x");
  EXPECT_EQ(config.boolean("t"), true);
  EXPECT_EQ(config.numbers("v"), (std::vector<double>{1, 2.5}));
  EXPECT_EQ(config.texts("w"), (std::vector<std::string>{"p", "q"}));
  EXPECT_EQ(config.keys("b"), (std::vector<std::string>{"c", "d"}));
  EXPECT_EQ(config.keys("").size(), 7u);
  EXPECT_TRUE(config.keys("a").empty());
  EXPECT_FALSE(config.has("n") || config.has("n.x") || config.has("b.x") || config.integer("x"));
  EXPECT_EQ(config.file(), "c");
}

TEST(CheckpointConfig, RefusesAnotherKindByItsKey) {
  const Config config = Config::parse(
      R"({"a": "1", "b": 1.5, "c": [1, "x"], "d": 9223372036854775808, "e": 9007199254740993, "f": 3})", "c.json");
  EXPECT_EQ(config_refusal([&] { config.integer("a"); }), R"(c.json: key 'a': need an integer of 64 bits, got "1")");
  EXPECT_THAT(config_refusal([&] { config.integer("b"); }), HasSubstr("key 'b'"));
  EXPECT_THAT(config_refusal([&] { config.integer("d"); }), HasSubstr("key 'd'"));
  EXPECT_THAT(config_refusal([&] { config.number("e"); }), HasSubstr("key 'e'"));  // no double
  EXPECT_THAT(config_refusal([&] { config.numbers("c"); }), HasSubstr("got \"x\""));
  EXPECT_THAT(config_refusal([&] { config.texts("a"); }), HasSubstr("an array of texts"));
  EXPECT_THAT(config_refusal([&] { config.boolean("f"); }), HasSubstr("true or false"));
  // A number where an object is due would else read as a key that is absent.
  EXPECT_EQ(config_refusal([&] { config.has("f.type"); }), "c.json: key 'f': need an object, got 3");
  EXPECT_THAT(config_refusal([&] { config.need_integer("x"); }),
              HasSubstr("key 'x': need an integer, it is not there"));
  EXPECT_THAT(config_refusal([&] { config.need_number("x"); }), HasSubstr("key 'x': need a number, it is not there"));
}

TEST(CheckpointConfig, TextsThatAreNotStrictAreRefused) {
  const auto parsing = [](const std::string& text) { return config_refusal([&] { Config::parse(text, "c"); }); };
  EXPECT_THAT(parsing(""), HasSubstr("no JSON"));
  EXPECT_THAT(parsing("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(parsing(R"({"a": NaN})"), HasSubstr("no JSON"));
  EXPECT_THAT(parsing(R"({"a": {"b": 1, "b": 2}})"), HasSubstr("'b' twice"));
  EXPECT_THAT(parsing(R"({"a": )" + std::string(100000, '[')), HasSubstr("nests deeper than 16"));
}

TEST(CheckpointConfig, ValuesOfFlatKeysKeepTheirKinds) {
  const Config config = Config::of_values({{"a.b", std::uint64_t{1} << 63},
                                           {"a.c", std::int64_t{-1}},
                                           {"a.d", 0.5},
                                           {"a.e", true},
                                           {"a.f", std::string("\xff")}},
                                          "g");
  EXPECT_EQ(config.integer("a.c"), -1);
  EXPECT_EQ(config.number("a.d"), 0.5);
  EXPECT_EQ(config.boolean("a.e"), true);
  EXPECT_THAT(config_refusal([&] { config.integer("a.b"); }), HasSubstr("key 'a.b'"));
  EXPECT_THAT(config_refusal([&] { config.integer("a.f"); }), HasSubstr("key 'a.f'"));  // no UTF-8: shown all the same
}

// The sizes in a GGUF file: a wrong one shows where the next thing begins.

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
