// A configuration answers by path, and refuses a value of another kind by its key.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/read/checkpoint.hpp"
#include "models/read/config.hpp"
#include "models/read/element_format.hpp"
#include "models/read/file_errors.hpp"
#include "models/read/gguf_header.hpp"
#include "numerics/formats/format.hpp"
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

// Matrices of 8 bits with scales are the numbers times the scale of their block; any other quantisation is refused by
// name. The scales are applied here once more, entry by entry.

constexpr std::uint64_t matrix_rows = 5, matrix_columns = 7;

std::string quantised(const std::string& rest) { return R"({"quantization_config": {)" + rest + "}}"; }

const std::string fp8 = R"("quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic")";
std::string compressed(const std::string& weights, const std::string& more = {}) {
  return R"("quant_method": "compressed-tensors", "quantization_status": "compressed", "ignore": ["lm_head"],
      "kv_cache_scheme": null, "config_groups": {"group_0": {"targets": ["Linear"], "input_activations": {"num_bits": 8},
      "output_activations": null, "weights": {)" +
         weights + "}}}" + more;
}

struct Quantised {
  std::string dtype = "F8_E4M3", config, scale_name = "w.weight_scale", scale_dtype = "F32";
  std::vector<std::uint64_t> scale_shape;
  std::uint64_t block_rows = matrix_rows, block_columns = matrix_columns;  // what a scale is for
};

double weight_of(const std::string& dtype, unsigned char byte) {
  if (dtype == "I8") return static_cast<std::int8_t>(byte);
  return numerics::decode(dtype == "F8_E4M3" ? numerics::Format::e4m3 : numerics::Format::e5m2, byte);
}

class Folder {
 public:
  Folder(const Quantised& one, const std::vector<FileTensor>& more = {}) {
    std::mt19937_64 random(3);
    for (std::uint64_t i = 0; i < matrix_rows * matrix_columns; ++i) {
      char byte = 0;
      do byte = static_cast<char>(random());
      while (!std::isfinite(weight_of(one.dtype, static_cast<unsigned char>(byte))));
      bytes_ += byte;
    }
    std::uint64_t count = 1;
    for (const std::uint64_t size : one.scale_shape) count *= size;
    std::string scales;
    for (std::uint64_t i = 0; i < count; ++i) {
      scales_.push_back(static_cast<float>(1 + i) / 3 * (i % 2 == 0 ? 1 : -1));
      if (one.scale_dtype == "BF16") scales_.back() = static_cast<float>(1 + i);
    }
    for (const float scale : scales_) {
      const std::string four = f32_bytes({scale});
      scales += one.scale_dtype == "BF16" ? four.substr(2) : four;
    }
    std::vector<FileTensor> tensors{{"w.weight", one.dtype, {matrix_rows, matrix_columns}, bytes_},
                                    {"b", "F32", {1}, f32_bytes({1})}};
    if (!one.scale_name.empty()) tensors.push_back({one.scale_name, one.scale_dtype, one.scale_shape, scales});
    tensors.insert(tensors.end(), more.begin(), more.end());
    folder_.write("config.json", quantised(one.config));
    path_ = folder_.write("some.safetensors", safetensors_of(tensors));
  }

  double expected(const Quantised& one, std::uint64_t row, std::uint64_t column) const {
    const std::uint64_t across = (matrix_columns + one.block_columns - 1) / one.block_columns;
    const std::uint64_t scale = row / one.block_rows * across + column / one.block_columns;
    return weight_of(one.dtype, static_cast<unsigned char>(bytes_[row * matrix_columns + column])) *
           static_cast<double>(scales_.at(scale));
  }
  const std::string& path() const { return path_; }
  std::string refusal() const {
    try {
      models::open_checkpoint(path_);
    } catch (const models::UnsupportedTensorFile& error) {
      return std::string("unsupported: ") + error.what();
    } catch (const models::TensorFileError& error) {
      return std::string("malformed: ") + error.what();
    }
    return "opened";
  }

 private:
  TensorFolder folder_;
  std::string path_, bytes_;
  std::vector<float> scales_;
};

const Quantised by_block{.config = fp8 + R"(, "weight_block_size": [2, 3])",
                         .scale_name = "w.weight_scale_inv",
                         .scale_shape = {3, 3},
                         .block_rows = 2,
                         .block_columns = 3};
const Quantised by_row{
    .config = compressed(R"("num_bits": 8, "type": "float", "strategy": "channel", "symmetric": true)",
                         R"(, "format": "float-quantized")"),
    .scale_dtype = "BF16",
    .scale_shape = {matrix_rows, 1},
    .block_rows = 1};

TEST(QuantisedSafetensors, NumbersAreThoseStoredTimesTheirScale) {
  Quantised by_matrix = by_row, of_integers = by_row, of_blocks = by_row, without_block_size = by_block;
  by_matrix.scale_shape = {1};
  by_matrix.block_rows = matrix_rows;
  of_integers.dtype = "I8";
  of_integers.config =
      compressed(R"("num_bits": 8, "type": "int", "strategy": "channel")", R"(, "format": "int-quantized")");
  of_blocks.dtype = "F8_E5M2";
  of_blocks.config = compressed(R"("num_bits": 8, "type": "float", "strategy": "block", "block_structure": [3, 2])");
  of_blocks.scale_shape = {2, 4};
  of_blocks.block_rows = 3;
  of_blocks.block_columns = 2;
  without_block_size.config = fp8;
  without_block_size.scale_shape = {};
  without_block_size.block_rows = matrix_rows;
  without_block_size.block_columns = matrix_columns;
  for (const Quantised& one : {by_block, by_row, by_matrix, of_integers, of_blocks, without_block_size}) {
    SCOPED_TRACE(one.config);
    const Folder folder(one, {{"w.input_scale", "F32", {1}, f32_bytes({1})}});
    const auto checkpoint = models::open_checkpoint(folder.path());
    EXPECT_TRUE(checkpoint->applies_quantisation());
    EXPECT_THAT(checkpoint->names(), ::testing::ElementsAre("b", "w.weight"));
    const models::StoredTensor& tensor = *checkpoint->find("w.weight");
    for (std::int64_t first = 0; first < 5; ++first) {
      for (std::int64_t column = 0; column < 7; ++column) {
        const Eigen::MatrixXd got = checkpoint->read(tensor, {first, 5 - first}, {column, 7 - column}).values;
        for (Eigen::Index i = 0; i < got.rows(); ++i) {
          for (Eigen::Index j = 0; j < got.cols(); ++j) {
            ASSERT_EQ(got(i, j), folder.expected(one, static_cast<std::uint64_t>(first + i),
                                                 static_cast<std::uint64_t>(column + j)));
          }
        }
      }
    }
  }
}

// What a stored report is compared by: a scale that is another shows.
TEST(QuantisedSafetensors, BytesOfATensorAreThoseOfItsScalesToo) {
  const Folder folder(by_block);
  const auto checkpoint = models::open_checkpoint(folder.path());
  std::uint64_t bytes = 0;
  models::read_stored_bytes(*checkpoint, *checkpoint->find("w.weight"), 1000,
                            [&](std::span<const std::byte> piece) { bytes += piece.size(); });
  EXPECT_EQ(bytes, matrix_rows * matrix_columns + 9 * 4);
}

TEST(QuantisedSafetensors, OthersAreRefusedByName) {
  const auto refusal = [](Quantised one, const std::string& config, const std::vector<FileTensor>& more = {}) {
    one.config = config;
    return Folder(one, more).refusal();
  };
  const std::string channel = R"("num_bits": 8, "strategy": "channel")";
  EXPECT_THAT(refusal(by_block, fp8 + R"(, "rotation": 1)"), HasSubstr("unsupported"));
  EXPECT_THAT(refusal(by_block, fp8 + R"(, "rotation": 1)"), HasSubstr("quantization_config.rotation"));
  EXPECT_THAT(refusal(by_block, R"("quant_method": "fp8", "fmt": "e5m2")"), HasSubstr("quantization_config.fmt"));
  for (const auto& [weights, more, key] : std::vector<std::array<std::string, 3>>{
           {channel, R"(, "format": "pack-quantized")", "quantization_config.format"},
           {R"("num_bits": 4, "strategy": "channel")", "", "weights.num_bits"},
           {R"("num_bits": 8, "strategy": "group")", "", "weights.strategy"},
           {channel + R"(, "symmetric": false)", "", "weights.symmetric"},
           {channel + R"(, "actorder": "group")", "", "weights.actorder"},
           {channel, R"(, "sparsity_config": {"format": "sparse-24-bitmask"})", "sparsity_config.format"},
           {channel, R"(, "transform_config": {"R1": {}})", "transform_config.R1"}}) {
    const std::string got = refusal(by_row, compressed(weights, more));
    EXPECT_THAT(got, HasSubstr("unsupported"));
    EXPECT_THAT(got, HasSubstr(key));
  }
  EXPECT_THAT(refusal(by_row, compressed(channel), {{"w.weight_zero_point", "I8", {1}, "0"}}), HasSubstr("zero_point"));
  Quantised other = by_row;
  other.scale_name = "";
  EXPECT_THAT(Folder(other).refusal(), HasSubstr("malformed"));
  EXPECT_THAT(Folder(other).refusal(), HasSubstr("w.weight_scale, they are not there"));
  other = by_block;
  other.scale_shape = {3, 2};
  EXPECT_THAT(Folder(other).refusal(), HasSubstr("its shape is another"));
  other = by_block;
  other.scale_dtype = "I32";
  EXPECT_THAT(Folder(other).refusal(), HasSubstr("got I32"));
  // What is not known here is left to who describes the model, scales and all.
  other = by_block;
  other.config = R"("quant_method": "gptq")";
  const Folder folder(other);
  const auto checkpoint = models::open_checkpoint(folder.path());
  EXPECT_FALSE(checkpoint->applies_quantisation());
  EXPECT_NE(checkpoint->find("w.weight_scale_inv"), nullptr);
}

}  // namespace
}  // namespace softcheck::proptests
