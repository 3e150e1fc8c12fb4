// The reader takes what the writer wrote and refuses everything else with one clear line.
#include "experiments/safetensors.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace softcheck::experiments {
namespace {

using ::testing::HasSubstr;

// A file from its parts: the header as text, its length in front, zeros as data.
std::vector<std::byte> file_of(const std::string& header, std::size_t data_bytes) {
  std::vector<std::byte> bytes;
  for (std::uint64_t length = header.size(), i = 0; i < 8; ++i, length >>= 8) bytes.push_back(std::byte(length & 0xff));
  for (const char letter : header) bytes.push_back(std::byte(letter));
  bytes.resize(bytes.size() + data_bytes);
  return bytes;
}

std::string refusal_of(const std::vector<std::byte>& bytes) {
  try {
    parse_safetensors(bytes, "some.safetensors");
  } catch (const models::TensorFileError& error) {
    return error.what();
  }
  return "accepted";
}

std::string refusal_of(const std::string& header, std::size_t data_bytes) {
  return refusal_of(file_of(header, data_bytes));
}

TensorFile two_tensors() {
  TensorFile file;
  file.tensors["a"] = {{2, 3}, {1, -2, 0x1p-149F, 4, 5, 6}};
  file.tensors["empty"] = {{0, 7}, {}};
  file.tensors["scalar"] = {{}, {7}};
  file.metadata = {{"seed", "1"}, {"text", "quotes \" and \\ and \n"}};
  return file;
}

class Scratch {
 public:
  Scratch() : folder_(std::filesystem::path(::testing::TempDir()) / ("safetensors." + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~Scratch() { std::filesystem::remove_all(folder_); }
  std::filesystem::path operator/(const char* name) const { return folder_ / name; }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

 private:
  std::filesystem::path folder_;
};

std::vector<std::byte> bytes_of(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

TEST(Safetensors, WhatIsWrittenIsRead) {
  const Scratch folder;
  write_safetensors(folder / "x.safetensors", two_tensors());
  const TensorFile read = read_safetensors(folder / "x.safetensors");
  EXPECT_EQ(folder.files(), 1U) << "a partial file is left";
  EXPECT_EQ(read.metadata, two_tensors().metadata);
  ASSERT_EQ(read.tensors.size(), 3U);
  for (const auto& [name, tensor] : two_tensors().tensors) {
    EXPECT_EQ(read.tensors.at(name).shape, tensor.shape) << name;
    EXPECT_EQ(read.tensors.at(name).values, tensor.values) << name;
  }
}

TEST(Safetensors, TheSameContentsGiveTheSameBytes) {
  const Scratch folder;
  write_safetensors(folder / "x", two_tensors());
  write_safetensors(folder / "y", two_tensors());
  EXPECT_EQ(bytes_of(folder / "x"), bytes_of(folder / "y"));
}

TEST(Safetensors, NothingIsLeftWhereNothingCanBeWritten) {
  EXPECT_THROW(write_safetensors("/no/such/folder/x", two_tensors()), std::system_error);
  const Scratch folder;
  TensorFile wrong = two_tensors();
  wrong.tensors["a"].values.pop_back();
  EXPECT_THROW(write_safetensors(folder / "x", wrong), std::invalid_argument);
  EXPECT_EQ(folder.files(), 0U);
  // A device or a pipe is not replaced by a file.
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THROW(write_safetensors(folder / "pipe", two_tensors()), std::system_error);
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "pipe"));
}

TEST(Safetensors, ADamagedHeaderIsRefused) {
  EXPECT_THAT(refusal_of(std::vector<std::byte>(7)), HasSubstr("at least 8 bytes, got 7"));
  EXPECT_THAT(refusal_of(std::vector<std::byte>(8)), HasSubstr("need a JSON object"));
  EXPECT_THAT(refusal_of(std::vector<std::byte>(9, std::byte{0xff})), HasSubstr("header of at most 1 bytes"));
  EXPECT_THAT(refusal_of("[]", 0), HasSubstr("need a JSON object"));
  EXPECT_THAT(refusal_of("{\"a\":", 0), HasSubstr("no JSON"));
  EXPECT_THAT(refusal_of(R"({"__metadata__":{"k":"1","k":"2"}})", 0), HasSubstr("'k' twice"));
  EXPECT_THAT(refusal_of(R"({"__metadata__":{"k":1}})", 0), HasSubstr("'k' must be a text"));
  EXPECT_THAT(refusal_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},
                             "a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                         4),
              HasSubstr("'a' twice"));
  EXPECT_EQ(refusal_of("{}", 0), "accepted");
}

TEST(Safetensors, ATensorMustBeWhatItsHeaderSays) {
  const auto refusal = [](const std::string& entry, std::size_t data_bytes) {
    return refusal_of("{\"a\":" + entry + "}", data_bytes);
  };
  EXPECT_EQ(refusal(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", 8), "accepted");
  EXPECT_THAT(refusal(R"({"dtype":"F16","shape":[2],"data_offsets":[0,4]})", 4), HasSubstr("need dtype \"F32\""));
  EXPECT_THAT(refusal(R"({"dtype":"F32","shape":[2]})", 8), HasSubstr("need dtype, shape and data_offsets"));
  EXPECT_THAT(refusal(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})", 8), HasSubstr("non-negative integers"));
  EXPECT_THAT(refusal(R"({"dtype":"F32","shape":[2.5],"data_offsets":[0,8]})", 8), HasSubstr("non-negative integers"));
  EXPECT_THAT(refusal(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})", 8), HasSubstr("exceeds the file"));
  EXPECT_THAT(refusal(R"({"dtype":"F32","shape":[1],"data_offsets":[0,8]})", 8), HasSubstr("needs 4 bytes"));
  EXPECT_THAT(refusal(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", 4), HasSubstr("do not lie within"));
  EXPECT_THAT(refusal(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})", 8), HasSubstr("do not lie within"));
  EXPECT_THAT(refusal(R"({"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]})", 0),
              HasSubstr("exceeds the file"));
}

TEST(Safetensors, HolesAndOverlapsAreRefused) {
  const auto pair = [](const char* first, const char* second) {
    return std::string(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":)") + first +
           R"(},"b":{"dtype":"F32","shape":[1],"data_offsets":)" + second + "}}";
  };
  EXPECT_EQ(refusal_of(pair("[0,4]", "[4,8]"), 8), "accepted");
  EXPECT_EQ(refusal_of(pair("[4,8]", "[0,4]"), 8), "accepted");
  EXPECT_THAT(refusal_of(pair("[0,4]", "[8,12]"), 12), HasSubstr("begins at byte 8"));
  EXPECT_THAT(refusal_of(pair("[0,4]", "[0,4]"), 4), HasSubstr("begins at byte 0"));
  EXPECT_THAT(refusal_of(pair("[0,4]", "[4,8]"), 12), HasSubstr("end at byte 8"));
}

// Cut off anywhere, or with any byte changed: read as something or refused, and never anything else.
TEST(Safetensors, NoDamageDoesMoreThanBeRefused) {
  const Scratch folder;
  write_safetensors(folder / "x", two_tensors());
  const std::vector<std::byte> whole = bytes_of(folder / "x");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(refusal_of({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)}), "accepted") << length;
  }
  std::mt19937_64 words(20261122);
  std::size_t refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> damaged = whole;
    for (std::uint64_t change = 0, changes = 1 + words() % 3; change < changes; ++change) {
      damaged[words() % damaged.size()] = std::byte(words() & 0xff);
    }
    refused += refusal_of(damaged) != "accepted";
  }
  EXPECT_GT(refused, 10'000U);
}

// JSON of any shape, nested up to so deep, where an entry is due: refused, whatever it is.
std::string any_json(std::mt19937_64& words, int depth) {
  static constexpr const char* leaves[] = {
      "0", "-1", "1e400", "18446744073709551616", "\"F32\"", "\"\\u0000\"", "[]", "null", "true", "{}", "\"\"", "0.5"};
  if (depth == 0) return leaves[words() % std::size(leaves)];
  const std::string inner = any_json(words, depth - 1);
  if (words() % 2 == 0) return "[" + inner + (words() % 4 == 0 ? ",1" : "") + "]";
  static constexpr const char* keys[] = {"dtype", "shape", "data_offsets", "a", "__metadata__"};
  return std::string("{\"") + keys[words() % std::size(keys)] + "\":" + inner + "}";
}

TEST(Safetensors, NestedJsonOfAnyDepthIsRefused) {
  std::mt19937_64 words(20261122);
  for (int round = 0; round < 4'000; ++round) {
    // Depths on a log scale to 2^17: beyond what a recursion's stack holds.
    const int depth = static_cast<int>(std::exp2(static_cast<double>(words() % 1700) / 100));
    const bool flat = depth > 400;  // any_json itself recurses
    const std::string levels(static_cast<std::size_t>(depth), '[');
    const std::string inner = flat ? levels + std::string(levels.size(), ']') : any_json(words, depth);
    const std::string where[] = {"{\"a\":" + inner + "}", "{\"__metadata__\":" + inner + "}",
                                 R"({"a":{"dtype":"F32","shape":)" + inner + R"(,"data_offsets":[0,4]}})",
                                 R"({"a":{"dtype":)" + inner + R"(,"shape":[1],"data_offsets":[0,4]}})"};
    const std::string refusal = refusal_of(where[words() % std::size(where)], 4);
    EXPECT_THAT(refusal, HasSubstr("some.safetensors: ")) << depth;
    EXPECT_LT(refusal.size(), 2'000U);
  }
}

TEST(Safetensors, WhatIsNoRegularFileIsRefusedWithoutWaiting) {
  const Scratch folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const std::filesystem::path& path : {folder / "pipe", std::filesystem::path("/dev/zero"), folder / "."}) {
    EXPECT_THROW(read_safetensors(path), models::TensorFileError) << path;
  }
}

// A terabyte of which nothing is there: the header says that it is wrong before anything else is read.
TEST(Safetensors, OnlyTheHeaderOfAHugeFileIsRead) {
  const Scratch folder;
  const std::string header = R"({"a":{"dtype":"F32","shape":[274877906944],"data_offsets":[0,1099511627776]}})";
  const std::vector<std::byte> bytes = file_of(header, 0);
  std::ofstream(folder / "sparse", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  std::error_code error;
  std::filesystem::resize_file(folder / "sparse", bytes.size() + (std::uintmax_t{1} << 40), error);
  if (error) GTEST_SKIP() << "no sparse file of 1 TiB here: " << error.message();
  EXPECT_THROW(read_safetensors(folder / "sparse"), models::TensorFileError);
}

}  // namespace
}  // namespace softcheck::experiments
