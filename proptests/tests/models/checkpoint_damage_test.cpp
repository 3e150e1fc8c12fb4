// Damaged and hostile files: refused, or the same tensors; never a crash, and no memory that the file does not have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "models/read/checkpoint.hpp"
#include "models/read/gguf_header.hpp"
#include "proptests/tests/models/checkpoint_files.hpp"

namespace softcheck::proptests {
namespace {

using ::testing::HasSubstr;

GgufFile small_file() {
  GgufFile file;
  file.key("general.architecture", GgufFile::text, gguf_text("some"));
  file.key("some.block_count", GgufFile::u32, little_endian(2, 4));
  file.key("some.flag", GgufFile::boolean, "\1");
  file.key("some.words", GgufFile::array,
           little_endian(GgufFile::text, 4) + little_endian(2, 8) + gguf_text("a") + gguf_text("b"));
  file.key("tokenizer.ggml.tokens", GgufFile::array,
           little_endian(GgufFile::text, 4) + little_endian(2, 8) + gguf_text("a") + gguf_text("b"));
  file.tensor("w", 0, {2, 3}, f32_bytes({1, 2, 3, 4, 5, 6}));
  file.tensor("b", 1, {3}, std::string("\0\x3c\0\x40\0\x42", 6));
  return file;
}

std::string refusal_of(const std::string& bytes) {
  try {
    models::read_gguf_header(models::bytes_at_hand(std::as_bytes(std::span(bytes))), "some.gguf");
  } catch (const models::UnsupportedTensorFile& error) {
    return std::string("unsupported: ") + error.what();
  } catch (const models::TensorFileError& error) {
    return error.what();
  }
  return "accepted";
}

// All numbers of all tensors, or the kind of refusal.
std::string contents_of(const std::string& path) {
  std::string text;
  try {
    const auto checkpoint = models::open_checkpoint(path);
    for (const std::string& name : checkpoint->names()) {
      const models::StoredTensor& tensor = *checkpoint->find(name);
      text += name + " " + tensor.dtype;
      for (const std::int64_t size : tensor.shape) text += " " + std::to_string(size);
      if (tensor.shape.size() > 2) continue;
      const Eigen::MatrixXd values = checkpoint->read(tensor, {0, tensor.rows()}, {0, tensor.columns()}).values;
      for (const double value : values.reshaped()) text += " " + std::to_string(value);
    }
  } catch (const models::UnsupportedTensorFile&) {
    return "refused";
  } catch (const models::TensorFileError&) {
    return "refused";
  }
  return text;
}

TEST(CheckpointDamage, EveryTruncationIsRefused) {
  TensorFolder folder;
  folder.write("config.json", "{}");
  const std::string gguf = small_file().bytes();
  const std::string safetensors = safetensors_of({{"w", "F32", {2, 3}, f32_bytes({1, 2, 3, 4, 5, 6})}});
  for (const auto& [name, bytes] : {std::pair("x.gguf", gguf), std::pair("x.safetensors", safetensors)}) {
    const std::string whole = contents_of(folder.write(name, bytes));
    EXPECT_THAT(whole, HasSubstr("w F32 2 3 1.0"));
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const std::string got = contents_of(folder.write(name, bytes.substr(0, length)));
      // GGUF pads its last tensor, and a file without the padding has all its numbers.
      const bool only_padding = gguf == bytes && length >= bytes.size() - 26;
      EXPECT_EQ(got, only_padding ? whole : "refused") << name << " " << length;
    }
    EXPECT_EQ(contents_of(folder.write(name, bytes + "x")), "refused");
  }
}

TEST(CheckpointDamage, AFlippedBitIsRefusedOrReadWithoutACrash) {
  TensorFolder folder;
  folder.write("config.json", "{}");
  const std::string gguf = small_file().bytes();
  const std::string safetensors = safetensors_of(
      {{"w", "F32", {2, 3}, f32_bytes({1, 2, 3, 4, 5, 6})}, {"b", "F16", {2}, std::string("\0\x3c\0\x40", 4)}});
  for (const auto& [name, original] : {std::pair("x.gguf", gguf), std::pair("x.safetensors", safetensors)}) {
    std::size_t refused = 0;
    for (std::size_t bit = 0; bit < 8 * original.size(); ++bit) {
      std::string bytes = original;
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
      refused += contents_of(folder.write(name, bytes)) == "refused";
    }
    EXPECT_GT(refused, original.size()) << name;
  }
}

TEST(CheckpointDamage, HostileCountsAndSizesAreRefused) {
  const auto with = [](const std::function<void(GgufFile&)>& change) {
    GgufFile file = small_file();
    change(file);
    return refusal_of(file.bytes());
  };
  constexpr std::uint64_t huge = 1'000'000'000'000'000'000;
  EXPECT_EQ(with([](GgufFile&) {}), "accepted");
  EXPECT_THAT(with([](GgufFile& file) { file.tensors = huge; }),
              HasSubstr("the 1000000000000000000 tensors of its header"));
  EXPECT_THAT(with([](GgufFile& file) { file.keys = huge; }), HasSubstr("the 1000000000000000000 keys of its header"));
  EXPECT_THAT(with([](GgufFile& file) { file.tensors = 3; }), HasSubstr("some.gguf: "));
  EXPECT_THAT(with([](GgufFile& file) { file.version = 1; }),
              HasSubstr("unsupported: some.gguf: need a little-endian GGUF file of version 2 or 3, got version 1"));
  EXPECT_THAT(with([](GgufFile& file) { file.version = 0x03000000; }), HasSubstr("got a big-endian one"));
  EXPECT_EQ(with([](GgufFile& file) { file.version = 2; }), "accepted");
  EXPECT_THAT(with([](GgufFile& file) { file.key("k", GgufFile::text, little_endian(huge, 8)); }),
              HasSubstr("need 1000000000000000000 bytes of a text"));
  EXPECT_THAT(with([](GgufFile& file) {
                file.key("k", GgufFile::array, little_endian(GgufFile::u64, 4) + little_endian(huge, 8));
              }),
              HasSubstr("need at most 65536 values"));
  for (const unsigned type : {GgufFile::text, GgufFile::u64, 0u}) {
    EXPECT_THAT(with([&](GgufFile& file) {
                  file.key("tokenizer.k", GgufFile::array,
                           little_endian(type, 4) + little_endian(~std::uint64_t{0} / 8 + 1, 8));
                }),
                HasSubstr("some.gguf: "))
        << type;
  }
  EXPECT_THAT(with([](GgufFile& file) {
                file.key("k", GgufFile::array, little_endian(GgufFile::array, 4) + little_endian(1, 8));
              }),
              HasSubstr("no array in an array"));
  EXPECT_THAT(with([](GgufFile& file) { file.key("k", 13, "x"); }), HasSubstr("got type 13"));
  EXPECT_THAT(with([](GgufFile& file) { file.key("k", GgufFile::boolean, "\2"); }), HasSubstr("need true or false"));
  EXPECT_THAT(with([](GgufFile& file) { file.key("some.flag", GgufFile::boolean, "\1"); }),
              HasSubstr("'some.flag' comes twice"));
  EXPECT_THAT(with([](GgufFile& file) { file.key("general.alignment", GgufFile::u32, little_endian(0, 4)); }),
              HasSubstr("power of two"));
  EXPECT_THAT(with([](GgufFile& file) { file.key("general.alignment", GgufFile::u32, little_endian(48, 4)); }),
              HasSubstr("power of two"));
}

TEST(CheckpointDamage, TensorsThatContradictTheFileAreRefused) {
  const auto with = [](std::string_view name, unsigned type, const std::vector<std::uint64_t>& shape,
                       std::uint64_t offset) {
    GgufFile file = small_file();  // 64 bytes of data
    file.entry(name, type, shape, offset);
    file.data += std::string(32, '\0');
    return refusal_of(file.bytes());
  };
  EXPECT_EQ(with("c", 0, {8}, 64), "accepted");
  EXPECT_EQ(with("c", 0, {8, 1, 1, 1}, 64), "accepted");
  EXPECT_THAT(with("c", 0, {8, 1, 1, 1, 1}, 64), HasSubstr("need at most 4 dimensions"));
  EXPECT_THAT(with("w", 0, {8}, 64), HasSubstr("'w': comes twice"));
  EXPECT_THAT(with("c", 0, {8}, 32), HasSubstr("need its offset to be 64"));
  EXPECT_THAT(with("c", 0, {8}, 65), HasSubstr("a multiple of 32, got 65"));
  EXPECT_THAT(with("c", 0, {8}, 96), HasSubstr("need its offset to be 64"));
  EXPECT_THAT(with("c", 0, {9}, 64), HasSubstr("ends at byte 100 of the data"));
  EXPECT_THAT(with("c", 0, {}, ~std::uint64_t{31}), HasSubstr("exceeds the file"));
  EXPECT_THAT(with("c", 0, {std::uint64_t{1} << 32, std::uint64_t{1} << 32}, 64), HasSubstr("exceed the file"));
  EXPECT_THAT(with("c", 0, {0, ~std::uint64_t{0}}, 64), HasSubstr("some.gguf: "));
  EXPECT_THAT(with("c", 2, {33}, 64), HasSubstr("no whole blocks of Q4_0"));
  EXPECT_EQ(with("c", 77, {33}, 64), "accepted");  // an unknown type may end anywhere
  EXPECT_THAT(with("c", 77, {33}, 32), HasSubstr("need its offset to be"));
}

TEST(CheckpointDamage, SafetensorsNeedEveryKeyOfATensorAndNoOther) {
  TensorFolder folder;
  folder.write("config.json", "{}");
  const auto opening = [&](const std::string& keys) {
    try {
      models::open_checkpoint(folder.write("x.safetensors", safetensors_file(R"({"f":{)" + keys + "}}", "abcd")));
    } catch (const models::TensorFileError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const std::string dtype = R"("dtype":"F32")", shape = R"("shape":[1])", offsets = R"("data_offsets":[0,4])";
  EXPECT_EQ(opening(dtype + "," + shape + "," + offsets), "accepted");
  const std::string other = R"("kind":"F32")";
  for (const std::string& keys :
       {other + "," + shape + "," + offsets, dtype + "," + other + "," + offsets, dtype + "," + shape + "," + other,
        dtype + "," + shape, dtype + "," + shape + "," + offsets + "," + other}) {
    EXPECT_THAT(opening(keys), HasSubstr("need dtype, shape and data_offsets")) << keys;
  }
}

TEST(CheckpointDamage, SafetensorsOfPartsOfBytesFillWholeOnes) {
  TensorFolder folder;
  folder.write("config.json", "{}");
  const auto opening = [&](const char* dtype, std::uint64_t size, const char* bytes) {
    try {
      models::open_checkpoint(folder.write("x.safetensors", safetensors_of({{"f", dtype, {size}, bytes}})));
    } catch (const models::TensorFileError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(opening("F4", 4, "ab"), "accepted");
  EXPECT_EQ(opening("F6_E2M3", 4, "abc"), "accepted");
  EXPECT_THAT(opening("F4", 3, "ab"), HasSubstr("does not fill whole bytes"));
  EXPECT_THAT(opening("F4", 6, "ab"), HasSubstr("exceeds the file"));
}

TEST(CheckpointDamage, WhatIsSoundAndNotReadIsUnsupported) {
  TensorFolder folder;
  const auto opening = [&](const GgufFile& file) {
    try {
      const auto checkpoint = models::open_checkpoint(folder.write("x.gguf", file.bytes()));
      if (checkpoint->find("odd") != nullptr) checkpoint->read(*checkpoint->find("odd"), {0, 1}, {0, 1});
    } catch (const models::UnsupportedTensorFile& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  GgufFile split = small_file(), adapter = small_file(), odd = small_file(), aligned;
  split.key("split.count", GgufFile::u32, little_endian(3, 4));
  EXPECT_THAT(opening(split), HasSubstr("need one GGUF file, got one of 3"));
  adapter.key("general.type", GgufFile::text, gguf_text("adapter"));
  EXPECT_THAT(opening(adapter), HasSubstr("got an adapter"));
  odd.tensor("odd", 99, {5}, "12345");
  EXPECT_THAT(opening(odd), HasSubstr("got type 99"));
  aligned.alignment = 128;
  aligned.key("general.alignment", GgufFile::u32, little_endian(128, 4));
  aligned.tensor("a", 0, {1}, f32_bytes({1}));
  aligned.tensor("b", 0, {1}, f32_bytes({2}));
  ASSERT_EQ(opening(aligned), "accepted");
  EXPECT_EQ(contents_of(folder / "x.gguf"), "a F32 1 1.000000b F32 1 2.000000");
}

}  // namespace
}  // namespace softcheck::proptests
