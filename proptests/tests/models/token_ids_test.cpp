// Files of ids, and what is wrong with others.
#include "models/forward/token_ids.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "models/read/file_errors.hpp"

namespace softcheck::models {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TokenFile {
 public:
  explicit TokenFile(const std::string& text)
      : path_(std::filesystem::path(::testing::TempDir()) / ("token_ids_" + std::to_string(::getpid()))) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TokenFile() { std::filesystem::remove(path_); }
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string error_of(const std::string& text) {
  const TokenFile file(text);
  try {
    read_token_ids(file.path());
  } catch (const TensorFileError& error) {
    return error.what();
  }
  return "no error";
}

TEST(TokenIds, AreReadALineAtATime) {
  const TokenFile file("[1, 2,3]\r\n\n  4 5\t6 \n[ 7 ]\n2147483647");
  EXPECT_THAT(read_token_ids(file.path()),
              ElementsAre(ElementsAre(1, 2, 3), ElementsAre(4, 5, 6), ElementsAre(7), ElementsAre(2147483647)));
}

TEST(TokenIds, OtherTextsAreRefusedByTheirLine) {
  const std::string ids = "line 2: need ids of tokens, integers from 0 to 2^31 - 1, got ";
  EXPECT_THAT(error_of(""), HasSubstr("need a line of ids of tokens, got an empty file"));
  EXPECT_THAT(error_of(" \n\t\n"), HasSubstr("need a line of ids of tokens, got only blanks"));
  EXPECT_THAT(error_of("1\n[]"), HasSubstr(ids + "nothing"));
  EXPECT_THAT(error_of("1\n1,,2"), HasSubstr(ids + "',2'"));
  EXPECT_THAT(error_of("1\n1,"), HasSubstr(ids + "nothing"));
  EXPECT_THAT(error_of("1\n-1"), HasSubstr(ids + "'-1'"));
  EXPECT_THAT(error_of("1\n1.5"), HasSubstr(ids + "'1.5'"));
  EXPECT_THAT(error_of("1\n1e3"), HasSubstr(ids + "'1e3'"));
  EXPECT_THAT(error_of("1\n2147483648"), HasSubstr(ids + "'2147483648'"));
  EXPECT_THAT(error_of("1\n99999999999999999999"), HasSubstr(ids));
  EXPECT_THAT(error_of("1\nthe cat sat on the mat here"), HasSubstr(ids + "'the cat sat on the m'"));
  EXPECT_THAT(error_of("1\n[[1, 2]]"), HasSubstr(ids + "'[1, 2]'"));
  EXPECT_THAT(error_of("1\n[1, 2"), HasSubstr("line 2: need a ']' at the end, got '[1, 2'"));
  EXPECT_THAT(error_of(std::string("1\n\x93NUMPY\x01\0", 10)), HasSubstr(ids + "'?NUMPY"));
  EXPECT_THROW(read_token_ids("no such file"), MissingTensorFile);
}

}  // namespace
}  // namespace softcheck::models
