// Matrices of 8 bits with scales are the numbers times the scale of their block; any other quantisation is refused by
// name. The scales are applied here once more, entry by entry.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "models/read/checkpoint.hpp"
#include "models/read/element_format.hpp"
#include "numerics/formats/format.hpp"
#include "proptests/tests/models/checkpoint_files.hpp"

namespace softcheck::proptests {
namespace {

using ::testing::HasSubstr;

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

// OCP's E2M1 and E8M0, decoded by their definition.
TEST(QuantisedSafetensors, BlocksOfMxfp4AreTheirNumbersTimesAPowerOfTwo) {
  const auto number = [](unsigned half) {
    const unsigned exponent = half >> 1 & 3, mantissa = half & 1;
    const double size = exponent == 0 ? 0.5 * mantissa : std::ldexp(1 + 0.5 * mantissa, static_cast<int>(exponent) - 1);
    return half & 8 ? -size : size;
  };
  std::mt19937_64 random(5);
  const std::string blocks = drawn_bytes(2 * 3 * 2 * 16, random);
  std::string scales;
  for (int i = 0; i < 2 * 3 * 2; ++i) scales += static_cast<char>(i == 0 ? 0 : 110 + 3 * i);
  const auto folder_of = [&](const std::vector<std::uint64_t>& scale_shape) {
    auto folder = std::make_unique<TensorFolder>();
    folder->write("config.json", quantised(R"("quant_method": "mxfp4")"));
    folder->write("some.safetensors",
                  safetensors_of({{"x_blocks", "U8", {2, 3, 2, 16}, blocks}, {"x_scales", "U8", scale_shape, scales}}));
    return folder;
  };
  const auto folder = folder_of({2, 3, 2});
  const auto checkpoint = models::open_checkpoint(*folder / "some.safetensors");
  EXPECT_THAT(checkpoint->names(), ::testing::ElementsAre("x_blocks"));
  const models::StoredTensor& tensor = *checkpoint->find("x_blocks");
  EXPECT_THAT(tensor.shape, ::testing::ElementsAre(2, 3, 64));
  const Eigen::MatrixXd got = checkpoint->read(tensor, {1, 5}, {3, 61}).values;
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 61; ++j) {
      const std::size_t at = (i + 1) * 64 + j + 3;
      const auto byte = static_cast<unsigned char>(blocks[at / 2]);
      const int exponent = static_cast<unsigned char>(scales[at / 32]) - 127;
      ASSERT_EQ(got(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)),
                std::ldexp(number(at % 2 == 0 ? byte & 15u : byte >> 4), exponent));
    }
  }
  const auto other = folder_of({3, 2, 2});
  EXPECT_THROW(models::open_checkpoint(*other / "some.safetensors"), models::TensorFileError);
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
