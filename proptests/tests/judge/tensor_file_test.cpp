// The readers of tensor files take what NumPy and safetensors write and refuse everything else with one clear line.
#include "judge/results/files/tensor_file.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "proptests/tests/judge/tensor_file_writers.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// What the reader says of the file; "accepted" where it takes it.
std::string refusal_at(const std::string& place, std::optional<Format> voids = std::nullopt) {
  try {
    read_tensor(place, voids);
  } catch (const models::MissingTensorFile& error) {
    return std::string("missing: ") + error.what();
  } catch (const models::TensorFileError& error) {
    return error.what();
  } catch (const models::UnsupportedTensorFile& error) {
    return std::string("unsupported: ") + error.what();
  }
  return "accepted";
}

// Of a file of these bytes, without the folder.
std::string file_refusal(const std::string& name, const std::string& bytes,
                         std::optional<Format> voids = std::nullopt) {
  const TensorFolder folder;
  std::string text = refusal_at(folder.write(name, bytes), voids);
  const std::string prefix = folder / "";
  for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix))
    text.erase(at, prefix.size());
  return text;
}

std::uint64_t bits_at(const GivenTensor& tensor, std::int64_t offset) {
  const std::size_t bytes =
      tensor.format ? static_cast<std::size_t>(numerics::properties(*tensor.format).storage_bits) / 8 : 1;
  std::uint64_t bits = 0;
  std::memcpy(&bits, tensor.first + static_cast<std::size_t>(offset) * bytes, bytes);
  return bits;
}

double value_at(const GivenTensor& tensor, std::int64_t offset) {
  const std::uint64_t bits = bits_at(tensor, offset);
  return tensor.format ? numerics::decode(*tensor.format, bits) : static_cast<double>(bits);
}

const std::array<float, 6> six{1, -2, 0x1p-149F, 4, 5, 6};

bool has_libzip() { return !file_refusal("x.npz", zip_file({})).starts_with("unsupported"); }

struct NpyDtypeCase {
  const char* descr;
  std::optional<Format> format;
  std::size_t bytes;
};

TEST(TensorFile, EveryDtypeOfNumpyIsRead) {
  const TensorFolder folder;
  for (const auto& [descr, format, bytes] :
       {NpyDtypeCase{"<f8", Format::f64, 8}, NpyDtypeCase{"<f4", Format::f32, 4}, NpyDtypeCase{"<f2", Format::f16, 2},
        NpyDtypeCase{"|u1", std::nullopt, 1}, NpyDtypeCase{"|b1", std::nullopt, 1},
        NpyDtypeCase{"|V2", Format::bf16, 2}, NpyDtypeCase{"<V2", Format::bf16, 2},
        NpyDtypeCase{"|V1", Format::e4m3, 1}, NpyDtypeCase{"<V1", Format::e4m3, 1},
        NpyDtypeCase{"|V1", Format::e5m2, 1}, NpyDtypeCase{"<f1", Format::e5m2, 1}}) {
    std::string data;
    for (std::size_t i = 0; i < 6 * bytes; ++i) data += static_cast<char>(i % 64);
    for (const int version : {1, 2, 3}) {
      const FileTensor read =
          read_tensor(folder.write("x.npy", npy_file(descr, "(2, 3)", data, false, version)), format);
      EXPECT_EQ(read.tensor.format, format) << descr;
      EXPECT_EQ(read.dtype, descr);
      EXPECT_THAT(read.tensor.shape, ElementsAre(2, 3));
      EXPECT_THAT(read.tensor.strides, ElementsAre(3, 1));
      EXPECT_EQ(std::memcmp(read.tensor.first, data.data(), data.size()), 0) << descr;
    }
  }
}

TEST(TensorFile, FortranOrderIsAMatterOfStrides) {
  const TensorFolder folder;
  const FileTensor read =
      read_tensor(folder.write("x.npy", npy_file("<f4", "(2, 3)", bytes_of_values<float>(six), true)));
  EXPECT_THAT(read.tensor.strides, ElementsAre(1, 2));
  EXPECT_EQ(value_at(read.tensor, 2), 0x1p-149);  // [0, 1]
}

TEST(TensorFile, ShapesOfNoElementAndOfOne) {
  const TensorFolder folder;
  EXPECT_THAT(read_tensor(folder.write("a.npy", npy_file("<f4", "()", "abcd"))).tensor.shape, ElementsAre());
  EXPECT_THAT(read_tensor(folder.write("b.npy", npy_file("<f4", "(1,)", "abcd"))).tensor.shape, ElementsAre(1));
  EXPECT_THAT(read_tensor(folder.write("c.npy", npy_file("<f4", "(0, 7)", ""))).tensor.shape, ElementsAre(0, 7));
}

TEST(TensorFile, ABigEndianOrOtherDtypeSaysWhatIsNeeded) {
  EXPECT_THAT(file_refusal("x.npy", npy_file(">f4", "(1,)", "abcd")),
              AllOf(HasSubstr("big endian"), HasSubstr("'<f4'")));
  EXPECT_THAT(file_refusal("x.npy", npy_file("<i2", "(1,)", "ab")), HasSubstr("need dtype '<f8', '<f4'"));
  EXPECT_THAT(file_refusal("x.npy", npy_file("<c8", "(1,)", "abcdefgh")), HasSubstr("got '<c8'"));
  EXPECT_THAT(file_refusal("x.npy", npy_file("|O", "(1,)", "abcdefgh")), HasSubstr("got '|O'"));
  EXPECT_THAT(file_refusal("x.npy", npy_file("|V2", "(1,)", "ab")), HasSubstr("need --dtype bf16"));
  EXPECT_EQ(file_refusal("x.npy", npy_file("|V2", "(1,)", "ab"), Format::bf16), "accepted");
  EXPECT_THAT(file_refusal("x.npy", npy_file("|V2", "(1,)", "ab"), Format::e4m3), HasSubstr("need --dtype bf16"));
  EXPECT_THAT(file_refusal("x.npy", npy_file("|V1", "(1,)", "a"), Format::bf16),
              HasSubstr("need --dtype e4m3 or e5m2"));
  EXPECT_THAT(
      file_refusal("x.npy", npy_around("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "abcd")),
      HasSubstr("structured dtype"));
}

TEST(TensorFile, ADamagedNpyHeaderIsRefused) {
  const std::string whole = npy_file("<f4", "(2, 3)", bytes_of_values<float>(six));
  EXPECT_THAT(file_refusal("x.npy", "\x93NUMP"), StartsWith("x.npy: need a .npy file"));
  EXPECT_THAT(file_refusal("x.npy", "text"), HasSubstr("begins with"));
  EXPECT_THAT(file_refusal("x.npy", whole.substr(0, 6) + "\x04" + whole.substr(7)), HasSubstr("got 4.0"));
  EXPECT_THAT(file_refusal("x.npy", whole.substr(0, 7) + "\x01" + whole.substr(8)), HasSubstr("got 1.1"));
  EXPECT_THAT(file_refusal("x.npy", whole.substr(0, 9)), HasSubstr("ends within"));
  EXPECT_THAT(file_refusal("x.npy", whole.substr(0, 40)), HasSubstr("its length says"));
  EXPECT_THAT(file_refusal("x.npy", whole + "x"), HasSubstr("holds 25 bytes of data, shape (2, 3) of '<f4' needs 24"));
  EXPECT_THAT(file_refusal("x.npy", whole.substr(0, whole.size() - 1)),
              HasSubstr("holds 23 bytes of data, fewer than"));
  EXPECT_THAT(file_refusal("x.npy", npy_file("<f4", "(4611686018427387904, 4)", "")), HasSubstr("fewer than"));
  EXPECT_THAT(file_refusal("x.npy", npy_file("<f4", "(0, 4611686018427387904, 4)", "")), HasSubstr("more than 2^56"));
  EXPECT_THAT(file_refusal("x.npy", npy_file("<f4", "(9223372036854775808,)", "")), HasSubstr("below 2^63"));
  EXPECT_THAT(file_refusal("x.npy", npy_file("<f4", "(-1,)", "")), HasSubstr("non-negative"));
  EXPECT_THAT(file_refusal("x.npy", npy_file("<f4", "(1)", "abcd")), HasSubstr("no tuple"));
  EXPECT_THAT(file_refusal("x.npy", npy_file("<f4", "[1]", "abcd")), HasSubstr("no dictionary"));
  std::string deep = "(";
  for (int i = 0; i < 65; ++i) deep += "1, ";
  EXPECT_THAT(file_refusal("x.npy", npy_file("<f4", deep + ")", "abcd")), HasSubstr("64 dimensions"));
  const auto header = [](const std::string& text) { return file_refusal("x.npy", npy_around(text, "abcd")); };
  EXPECT_EQ(header("{\"shape\": (1,), 'fortran_order': True, 'descr': '<f4'}"), "accepted");
  EXPECT_THAT(header("{'descr': '<f4', 'fortran_order': False}"), HasSubstr("lacks a key"));
  EXPECT_THAT(header("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}"), HasSubstr("twice"));
  EXPECT_THAT(header("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}"), HasSubstr("key 'x'"));
  EXPECT_THAT(header("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}"), HasSubstr("True or False"));
  EXPECT_THAT(header("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x"), HasSubstr("goes on"));
  EXPECT_THAT(file_refusal("x.npy", npy_around(std::string(100'000, '{'), "", 2)), HasSubstr("its length says"));
  EXPECT_THAT(header(std::string(50'000, '[')), HasSubstr("no dictionary"));
}

TEST(TensorFile, WhatIsNoFileOfTensorsIsRefusedWithoutWaiting) {
  const TensorFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe.npy").c_str(), 0600), 0);
  for (const std::string& place : {folder / "pipe.npy", std::string("/dev/zero"), folder / "."}) {
    EXPECT_THAT(refusal_at(place), HasSubstr("need a regular file")) << place;
  }
  EXPECT_THAT(refusal_at(folder.write("empty.npy", "")), HasSubstr("empty"));
  EXPECT_THAT(refusal_at(folder / "none.npy"), AllOf(StartsWith("missing: "), HasSubstr("none.npy' is not there")));
  EXPECT_THAT(refusal_at(folder / "none.npz:x"), StartsWith("missing: "));
  EXPECT_THAT(refusal_at(folder.write("x.bin", "abc")), HasSubstr("ends in .npy, .npz or .safetensors"));
  EXPECT_THAT(refusal_at(folder.write("x.npy", npy_file("<f4", "(1,)", "abcd")) + ":y"), HasSubstr("without a name"));
  EXPECT_EQ(refusal_at(folder.write("a:b.npy", npy_file("<f4", "(1,)", "abcd"))), "accepted");
}

// Why a file of 1 TiB cannot be mapped here, "" where it can.
std::string too_few_addresses() {
  rlimit addresses{};
  if (getrlimit(RLIMIT_AS, &addresses) != 0 || addresses.rlim_cur > rlim_t{1} << 41) return "";
  const char* emulator = std::getenv("SOFTCHECK_EMULATOR");
  return "a process has only " + std::to_string(addresses.rlim_cur >> 30) + " GiB of addresses" +
         (emulator == nullptr ? "" : std::string(", for the sake of ") + emulator);
}

// A terabyte of which nothing is there: the header says what it holds, and no byte of it is read.
TEST(TensorFile, AHugeFileIsNotRead) {
  if (const std::string why = too_few_addresses(); !why.empty()) GTEST_SKIP() << why;
  const TensorFolder folder;
  std::error_code error;
  const std::string zeros = folder.write("zeros.npy", "x");
  std::filesystem::resize_file(zeros, std::uintmax_t{1} << 40, error);
  if (error) GTEST_SKIP() << "no sparse file of 1 TiB here: " << error.message();
  EXPECT_THAT(refusal_at(zeros), HasSubstr("need a .npy file"));
  const std::string header = npy_file("<f4", "(274877906944,)", "");
  const std::string whole = folder.write("whole.npy", header);
  std::filesystem::resize_file(whole, header.size() + (std::uintmax_t{1} << 40));
  const FileTensor read = read_tensor(whole);
  EXPECT_THAT(read.tensor.shape, ElementsAre(std::int64_t{1} << 38));
  EXPECT_EQ(value_at(read.tensor, (std::int64_t{1} << 38) - 1), 0);
  for (const char* name : {"zeros.safetensors", "zeros.npz"}) {
    if (!has_libzip() && std::string(name).ends_with("npz")) continue;
    const std::string place = folder.write(name, "");
    std::filesystem::resize_file(place, std::uintmax_t{1} << 36);
    EXPECT_THAT(refusal_at(place), Not("accepted"));
  }
}

TEST(TensorFile, ATensorOfASafetensorsFileIsFoundByItsName) {
  const TensorFolder folder;
  const std::string header =
      R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"b":{"dtype":"BF16","shape":[2],"data_offsets":[24,28]},)"
      R"("ids":{"dtype":"I64","shape":[1],"data_offsets":[28,36]},"m":{"dtype":"BOOL","shape":[1],"data_offsets":[36,37]}})";
  const std::string data =
      bytes_of_values<float>(six) + std::string("\x80\x3f\x00\xc0", 4) + std::string(8, '\0') + "\x01";
  const std::string file = folder.write("x.safetensors", safetensors_file(header, data));
  const FileTensor a = read_tensor(file + ":a"), b = read_tensor(file + ":b"), mask = read_tensor(file + ":m");
  EXPECT_THAT(a.tensor.shape, ElementsAre(2, 3));
  EXPECT_THAT(a.tensor.strides, ElementsAre(3, 1));
  EXPECT_EQ(value_at(a.tensor, 2), 0x1p-149);
  EXPECT_EQ(b.tensor.format, Format::bf16);
  EXPECT_EQ(value_at(b.tensor, 0), 1);
  EXPECT_EQ(value_at(b.tensor, 1), -2);
  EXPECT_EQ(b.place(), file + ":b");
  EXPECT_EQ(mask.tensor.format, std::nullopt);
  EXPECT_EQ(value_at(mask.tensor, 0), 1);
  EXPECT_THAT(refusal_at(file), HasSubstr("need FILE:NAME, as it holds 4 tensors: 'a', 'b', 'ids', 'm'"));
  EXPECT_THAT(refusal_at(file + ":c"), HasSubstr("holds no tensor 'c', but 'a', 'b'"));
  EXPECT_EQ(read_tensor(file + ":ids").tensor.integer_bits, 64u);
  EXPECT_THAT(file_refusal("w.safetensors",
                           safetensors_file(R"({"a":{"dtype":"I16","shape":[1],"data_offsets":[0,2]}})", "ab")),
              HasSubstr("need dtype F64, F32, F16, BF16, F8_E4M3, F8_E5M2, I64, I32, U8 or BOOL, got I16"));
  const std::string short_ones = R"({"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]},)"
                                 R"("b":{"dtype":"F8_E5M2","shape":[1],"data_offsets":[1,2]}})";
  const std::string eight = folder.write("eight.safetensors", safetensors_file(short_ones, "\x7e\x7b"));
  EXPECT_EQ(value_at(read_tensor(eight + ":a").tensor, 0), 448);
  EXPECT_EQ(value_at(read_tensor(eight + ":b").tensor, 0), 57344);
  const std::string alone = R"({"only":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}})";
  EXPECT_EQ(read_tensor(folder.write("y.safetensors", safetensors_file(alone, "ab"))).name, "only");
  EXPECT_THAT(refusal_at(folder.write("z.safetensors", safetensors_file("{}", ""))), HasSubstr("holds no tensor"));
  EXPECT_THAT(
      file_refusal("x.safetensors", safetensors_file(R"({"a":{"dtype":"F5","shape":[2],"data_offsets":[0,1]}})", "a")),
      HasSubstr("need dtype \"F4\""));
}

TEST(TensorFile, MembersOfAnNpzAreUnpacked) {
  if (!has_libzip()) GTEST_SKIP() << "no libzip";
  const TensorFolder folder;
  const std::string array = npy_file("<f4", "(2, 3)", bytes_of_values<float>(six));
  const std::array<ZipMember, 2> members{ZipMember{"logits.npy", array}, ZipMember{"p.npy", array, true}};
  const std::string file = folder.write("x.npz", zip_file(members));
  for (const char* name : {"logits", "p"}) {
    const FileTensor read = read_tensor(file + ":" + name);
    EXPECT_THAT(read.tensor.shape, ElementsAre(2, 3));
    EXPECT_EQ(value_at(read.tensor, 5), 6);
    EXPECT_EQ(read.name, name);
  }
  EXPECT_THAT(refusal_at(file), HasSubstr("2 tensors: 'logits', 'p'"));
  EXPECT_THAT(refusal_at(file + ":q"), HasSubstr("holds no tensor 'q'"));
  EXPECT_EQ(file_refusal("x.npz", zip_file(std::span(members).first(1))), "accepted");
}

TEST(TensorFile, AnArchiveThatIsWrongIsRefused) {
  if (!has_libzip()) GTEST_SKIP() << "no libzip";
  const std::string array = npy_file("<f4", "(2, 3)", bytes_of_values<float>(six));
  const auto refusal = [&](std::vector<ZipMember> members) { return file_refusal("x.npz", zip_file(members)); };
  EXPECT_THAT(file_refusal("x.npz", "text"), HasSubstr("is no .npz archive"));
  EXPECT_THAT(refusal({}), HasSubstr("holds no tensor"));
  EXPECT_THAT(refusal({{"a.npy", array}, {"a.npy", array}}), Not("accepted"));
  EXPECT_THAT(refusal({{"a.npy", array, false, 1}}), HasSubstr("encrypted"));
  EXPECT_THAT(refusal({{"a.npy", array, false, 0, 12}}), HasSubstr("need it stored or deflated"));
  EXPECT_THAT(refusal({{"a.npy", "text"}}), HasSubstr("x.npz:a: need a .npy file"));
  std::string damaged = zip_file(std::vector<ZipMember>{{"a.npy", array}});
  for (const std::size_t left : {damaged.size() / 2, damaged.size() - 10}) {
    EXPECT_THAT(file_refusal("x.npz", damaged.substr(0, left)), HasSubstr("x.npz: ends early: "));
  }
  damaged[30 + 5 + array.size() - 1] ^= 1;  // the last byte of the member, behind its name: the sum is another
  EXPECT_THAT(file_refusal("x.npz", damaged), HasSubstr("member 'a': CRC error"));
  // A size in the header that the file cannot hold is refused.
  for (const bool is_deflated : {false, true}) {
    std::string bomb = zip_file(std::vector<ZipMember>{{"a.npy", array, is_deflated}});
    const std::size_t directory = bomb.find("PK\x01\x02");
    for (const std::size_t at : {std::size_t{22}, directory + 24}) bomb.replace(at, 4, little_endian(0xfffffff0, 4));
    EXPECT_THAT(file_refusal("x.npz", bomb), Not("accepted"));
  }
}

// Cut off anywhere, or with any byte changed: read as something or refused, and never anything else.
TEST(TensorFile, NoDamageDoesMoreThanBeRefused) {
  const std::string array = npy_file("<f4", "(2, 3)", bytes_of_values<float>(six));
  const std::array<ZipMember, 2> members{ZipMember{"a.npy", array}, ZipMember{"b.npy", array, true}};
  const std::map<std::string, std::string> files{
      {"x.npy", array},
      {"x.npz", zip_file(members)},
      {"x.safetensors",
       safetensors_file(R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})", bytes_of_values<float>(six))}};
  const TensorFolder folder;
  std::mt19937_64 words(20261122);
  for (const auto& [name, whole] : files) {
    const std::string place = folder / name;
    const std::string asked = name == "x.npz" ? place + ":b" : place;
    // Truncated: what is cut is looked for, and not read beyond the end.
    for (std::size_t length = 0; length < whole.size(); ++length) {
      folder.write(name, whole.substr(0, length));
      EXPECT_NE(refusal_at(asked), "accepted") << name << " of " << length;
    }
    for (int round = 0; round < 4'000; ++round) {
      std::string damaged = whole;
      for (std::uint64_t change = 0, changes = 1 + words() % 3; change < changes; ++change) {
        damaged[words() % damaged.size()] = static_cast<char>(words() & 0xff);
      }
      folder.write(name, damaged);
      try {
        const FileTensor read = read_tensor(asked, Format::bf16);
        std::int64_t last = 0;
        bool is_empty = false;
        for (std::size_t i = 0; i < read.tensor.shape.size(); ++i) {
          is_empty |= read.tensor.shape[i] == 0;
          last += (read.tensor.shape[i] - 1) * read.tensor.strides[i];
        }
        if (!is_empty) value_at(read.tensor, last);  // its bytes are there
      } catch (const models::TensorFileError& error) {
        EXPECT_THAT(error.what(), StartsWith(place));
      } catch (const models::UnsupportedTensorFile&) {
      }
    }
  }
}

}  // namespace
}  // namespace softcheck::proptests
