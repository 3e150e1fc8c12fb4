// Blocks of tensors are the entries at their place, in either format and any cut; what cannot be read is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <thread>

#include "models/read/checkpoint.hpp"
#include "proptests/tests/models/checkpoint_files.hpp"

namespace softcheck::proptests {
namespace {

using models::StoredTensor;
using ::testing::HasSubstr;

std::vector<float> counted(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

template <typename Error>
std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("another error: ") + error.what();
  }
  return "accepted";
}

template <typename Error>
std::string opening(const std::string& path) {
  return refusal_of<Error>([&] { models::open_checkpoint(path); });
}

// A matrix of its own entries' numbers, as either format.
struct Counted {
  TensorFolder folder;
  std::unique_ptr<models::Checkpoint> safetensors, gguf;

  Counted(std::uint64_t rows, std::uint64_t columns) {
    const std::string bytes = f32_bytes(counted(rows * columns));
    folder.write("config.json", "{}");
    safetensors = models::open_checkpoint(
        folder.write("some.safetensors", safetensors_of({{"before", "U8", {3}, "abc"},
                                                         {"w", "F32", {rows, columns}, bytes},
                                                         {"b", "F32", {2}, f32_bytes({7, 8})}})));
    GgufFile file;
    file.tensor("before", 24, {3}, "abc");
    file.tensor("w", 0, {rows, columns}, bytes);
    file.tensor("b", 0, {2}, f32_bytes({7, 8}));
    gguf = models::open_checkpoint(folder.write("some.gguf", file.bytes()));
  }
};

TEST(CheckpointRead, EveryBlockHasTheEntriesAtItsPlace) {
  std::mt19937_64 random(2);
  // Wider and narrower than a tile, a piece and a gap; more rows than a tile.
  for (const auto& [rows, columns] : {std::pair(5, 7), std::pair(37, 600), std::pair(40, 12000), std::pair(1, 700000),
                                      std::pair(3, 300000), std::pair(70000, 3)}) {
    const Counted file(static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns));
    for (const models::Checkpoint* checkpoint : {file.safetensors.get(), file.gguf.get()}) {
      const StoredTensor* tensor = checkpoint->find("w");
      ASSERT_NE(tensor, nullptr);
      EXPECT_EQ(tensor->shape, (std::vector<std::int64_t>{rows, columns}));
      for (int draw = 0; draw < 30; ++draw) {
        const auto cut = [&](int size) {
          models::IndexRange range;
          range.first = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(size));
          range.count = 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(size - range.first));
          if (draw % 3 == 0) range = {0, size};
          if (draw % 3 == 1) range.count = std::min<std::int64_t>(range.count, 20);
          return range;
        };
        const models::IndexRange r = cut(rows), c = cut(columns);
        const models::TensorBlock block = checkpoint->read(*tensor, r, c);
        const auto expected =
            Eigen::MatrixXd::NullaryExpr(r.count, c.count, [&, width = columns](Eigen::Index i, Eigen::Index j) {
              return static_cast<double>(static_cast<float>((r.first + i) * width + c.first + j));
            });
        ASSERT_TRUE(block.values == expected)
            << checkpoint->format() << " " << r.first << " " << r.count << " " << c.first << " " << c.count;
        ASSERT_EQ(block.radius, 0);
      }
    }
  }
}

TEST(CheckpointRead, ColumnsOfQuantisedRowsMayBeginInsideABlock) {
  std::mt19937_64 random(3);
  std::string bytes;
  for (int block = 0; block < 12; ++block) bytes += little_endian(0x3c00, 2) + drawn_bytes(16, random);
  GgufFile file;
  file.tensor("q", 2, {3, 128}, bytes);
  TensorFolder folder;
  const auto checkpoint = models::open_checkpoint(folder.write("q.gguf", file.bytes()));
  const StoredTensor& tensor = *checkpoint->find("q");
  const Eigen::MatrixXd all = checkpoint->read(tensor, {0, 3}, {0, 128}).values;
  for (int first = 0; first < 128; first += 5) {
    for (const int count : {0, 1, 32, 50}) {
      const int taken = std::min(count, 128 - first);
      EXPECT_EQ(checkpoint->read(tensor, {1, 2}, {first, taken}).values, all.block(1, first, 2, taken));
    }
  }
}

TEST(CheckpointRead, VectorsAndNumbersAreOneRow) {
  const Counted file(2, 2);
  for (const models::Checkpoint* checkpoint : {file.safetensors.get(), file.gguf.get()}) {
    EXPECT_EQ(checkpoint->read(*checkpoint->find("b"), {0, 1}, {1, 1}).values(0, 0), 8);
    EXPECT_EQ(checkpoint->names(), (std::vector<std::string>{"b", "before", "w"}));
    EXPECT_EQ(checkpoint->find("c"), nullptr);
  }
  EXPECT_EQ(file.safetensors->format() + file.gguf->format(), "safetensorsgguf");
}

TEST(CheckpointRead, ACallOutsideTheTensorIsRefused) {
  const Counted file(4, 6);
  const StoredTensor& tensor = *file.gguf->find("w");
  constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();
  for (const auto& [rows, columns] :
       std::vector<std::pair<models::IndexRange, models::IndexRange>>{{{0, 5}, {0, 6}},
                                                                      {{4, 1}, {0, 6}},
                                                                      {{-1, 2}, {0, 6}},
                                                                      {{0, 4}, {0, 7}},
                                                                      {{0, 4}, {1, far}},
                                                                      {{0, -1}, {0, 6}},
                                                                      {{far, far}, {0, 6}}}) {
    EXPECT_THROW(file.gguf->read(tensor, rows, columns), std::invalid_argument);
  }
  EXPECT_THROW(file.gguf->read({"x", "F32", {4, 6}}, {0, 1}, {0, 1}), std::invalid_argument);
}

TEST(CheckpointRead, NaNsAndInfinitiesAreNamedWhereTheyAreRead) {
  TensorFolder folder;
  folder.write("config.json", "{}");
  const std::string f32 = f32_bytes({1, 2, 3, 4, std::numeric_limits<float>::infinity(), 6});
  const std::string e4m3 = "\x01\x7f\x02";
  const auto checkpoint = models::open_checkpoint(
      folder.write("x.safetensors", safetensors_of({{"a", "F32", {3, 2}, f32},
                                                    {"e", "F8_E4M3", {3}, e4m3},
                                                    {"h", "F16", {2}, std::string("\0\xfc\0\x7c", 4)},
                                                    {"u", "U8", {1}, "u"},
                                                    {"cube", "F32", {2, 2, 1}, f32_bytes({1, 2, 3, 4})}})));
  const auto reading = [&](const char* name, models::IndexRange rows, models::IndexRange columns) {
    return refusal_of<models::TensorFileError>([&] { checkpoint->read(*checkpoint->find(name), rows, columns); });
  };
  EXPECT_THAT(reading("a", {0, 3}, {0, 2}),
              HasSubstr("tensor 'a': need numbers, got a NaN or an infinity at row 2, column 0"));
  EXPECT_EQ(reading("a", {0, 3}, {1, 1}), "accepted");
  EXPECT_EQ(reading("a", {0, 2}, {0, 2}), "accepted");
  EXPECT_THAT(reading("e", {0, 1}, {0, 3}), HasSubstr("column 1"));
  EXPECT_THAT(reading("h", {0, 1}, {0, 2}), HasSubstr("column 0"));
  EXPECT_THROW(checkpoint->read(*checkpoint->find("u"), {0, 1}, {0, 1}), models::UnsupportedTensorFile);
  // Matrices one behind the other.
  EXPECT_EQ(checkpoint->read(*checkpoint->find("cube"), {3, 1}, {0, 1}).values(0, 0), 4);
  EXPECT_THROW(checkpoint->read(*checkpoint->find("cube"), {4, 1}, {0, 1}), std::invalid_argument);
}

TEST(CheckpointRead, ThreadsReadAtOnce) {
  const Counted file(300, 500);
  const StoredTensor& tensor = *file.safetensors->find("w");
  const Eigen::MatrixXd all = file.safetensors->read(tensor, {0, 300}, {0, 500}).values;
  std::array<int, 4> wrong{};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 50; ++k) {
        wrong[static_cast<std::size_t>(i)] +=
            file.safetensors->read(tensor, {i * 70, 70}, {k, 300}).values != all.block(i * 70, k, 70, 300);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::array<int, 4>{}));
}

TEST(CheckpointRead, AFileThatBecomesShorterIsRefused) {
  const Counted file(100, 100);
  std::filesystem::resize_file(file.folder / "some.gguf", 1000);
  EXPECT_THROW(file.gguf->read(*file.gguf->find("w"), {90, 10}, {0, 100}), models::TensorFileError);
}

// Shards, and what contradicts their index.
struct Sharded {
  TensorFolder folder;
  void write(const std::string& map) {
    folder.write("config.json", R"({"model_type": "some"})");
    folder.write("1.safetensors", safetensors_of({{"a", "F32", {1}, f32_bytes({1})}}));
    folder.write("2.safetensors",
                 safetensors_of({{"b", "F32", {1}, f32_bytes({2})}, {"c", "F32", {1}, f32_bytes({3})}}));
    folder.write("model.safetensors.index.json", R"({"metadata": {"total_size": 12}, "weight_map": )" + map + "}");
  }
  template <typename Error>
  std::string refusal(const std::string& map) {
    write(map);
    return opening<Error>(folder / "");
  }
};

TEST(CheckpointRead, TensorsStandInTheShardsThatTheIndexNames) {
  Sharded files;
  files.write(R"({"a": "1.safetensors", "b": "2.safetensors", "c": "2.safetensors"})");
  const auto checkpoint = models::open_checkpoint(files.folder / "");
  EXPECT_EQ(checkpoint->names(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(checkpoint->read(*checkpoint->find("c"), {0, 1}, {0, 1}).values(0, 0), 3);
  EXPECT_EQ(checkpoint->config().text("model_type"), "some");
  using models::TensorFileError;
  EXPECT_THAT(files.refusal<TensorFileError>(R"({"a": "1.safetensors", "b": "1.safetensors", "c": "2.safetensors"})"),
              HasSubstr("'b'"));
  EXPECT_THAT(files.refusal<TensorFileError>(R"({"a": "1.safetensors", "b": "2.safetensors"})"), HasSubstr("'c'"));
  EXPECT_THAT(files.refusal<TensorFileError>(
                  R"({"a": "1.safetensors", "b": "2.safetensors", "c": "2.safetensors", "d": "2.safetensors"})"),
              HasSubstr("'d'"));
  EXPECT_THAT(files.refusal<models::MissingTensorFile>(R"({"a": "3.safetensors"})"), HasSubstr("3.safetensors"));
  for (const char* name :
       {"/1.safetensors", "../1.safetensors", "..", "", "a\\\\1.safetensors", "1.safetensors\\u0000"}) {
    EXPECT_THAT(files.refusal<TensorFileError>(R"({"a": ")" + std::string(name) + R"("})"),
                HasSubstr("in the same folder"))
        << name;
  }
  EXPECT_THAT(files.refusal<TensorFileError>(R"({"a": 1})"), HasSubstr("'a'"));
  EXPECT_THAT(files.refusal<TensorFileError>("{}"), HasSubstr("weight_map"));
  EXPECT_THAT(files.refusal<TensorFileError>(R"({"a": "1.safetensors", "a": "2.safetensors"})"),
              HasSubstr("'a' twice"));
  files.folder.write("2.safetensors", safetensors_of({{"a", "F32", {1}, f32_bytes({1})}}));
  EXPECT_THAT(opening<TensorFileError>(files.folder / ""), HasSubstr("'a'"));
}

TEST(CheckpointRead, WhatIsNoCheckpointIsRefusedByWhatIsNeeded) {
  TensorFolder folder;
  using models::MissingTensorFile, models::TensorFileError, models::UnsupportedTensorFile;
  EXPECT_THAT(opening<MissingTensorFile>(folder / "nothing"), HasSubstr("is not there"));
  EXPECT_THAT(opening<MissingTensorFile>(folder / ""), HasSubstr("config.json"));
  folder.write("config.json", "{}");
  EXPECT_THAT(opening<MissingTensorFile>(folder / ""), HasSubstr("need model.safetensors"));
  folder.write("pytorch_model.bin", "PK");
  EXPECT_THAT(opening<UnsupportedTensorFile>(folder / ""), HasSubstr("got pytorch_model.bin"));
  EXPECT_THAT(opening<UnsupportedTensorFile>(folder / "pytorch_model.bin"), HasSubstr("got a .bin file"));
  EXPECT_THAT(opening<TensorFileError>(folder / "config.json"), HasSubstr("need a folder"));
  EXPECT_THAT(opening<TensorFileError>(folder.write("empty.gguf", "")), HasSubstr("an empty one"));
  EXPECT_THAT(opening<TensorFileError>(folder.write("short.gguf", "GG")), HasSubstr("not \"GGUF\""));
  ASSERT_EQ(mkfifo((folder / "pipe.gguf").c_str(), 0600), 0);
  EXPECT_THAT(opening<TensorFileError>(folder / "pipe.gguf"), HasSubstr("need a regular file"));
  folder.write("model.safetensors", safetensors_of({}));
  EXPECT_EQ(opening<TensorFileError>(folder / ""), "accepted");
  folder.write("config.json", R"({"a": 1, "a": 2})");
  EXPECT_THAT(opening<TensorFileError>(folder / ""), HasSubstr("'a' twice"));
  folder.write("adapter_config.json", "{}");
  EXPECT_THAT(opening<UnsupportedTensorFile>(folder / ""), HasSubstr("adapter"));
  EXPECT_THAT(opening<UnsupportedTensorFile>(folder / "model.safetensors"), HasSubstr("adapter"));
}

}  // namespace
}  // namespace softcheck::proptests
