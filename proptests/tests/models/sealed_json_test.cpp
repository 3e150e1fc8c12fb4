// What a run goes on from is what the run before has written, or is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "models/read/file_errors.hpp"
#include "models/read/strict_json.hpp"

namespace softcheck::models {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using SealedContents = nlohmann::json;

std::string unsealing(const std::string& text) {
  try {
    return unsealed_json(text, "f", "some 1", 3).dump();
  } catch (const TensorFileError& error) {
    return std::string("refused ") + error.what();
  }
}

TEST(SealedJson, ContentsComeBack) {
  const SealedContents contents = {{"b", {1, -2, 0.1, 1e-300, nullptr}}, {"a", std::string("x\xff")}};
  const std::string text = sealed_json(contents, "some 1");
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  EXPECT_EQ(unsealing(text), R"({"a":"x)"
                             "\xef\xbf\xbd"
                             R"(","b":[1,-2,0.1,1e-300,null]})");
}

TEST(SealedJson, AChangedByteIsSeen) {
  const std::string text = sealed_json({{"rows", {65536, 196608}}, {"note", "within"}}, "some 1");
  ASSERT_THAT(unsealing(text), HasSubstr("196608"));
  for (std::size_t at = 0; at + 1 < text.size(); ++at) {
    for (const char other : {'1', '7', 'x', ' '}) {
      if (text[at] == other) continue;
      std::string changed = text;
      changed[at] = other;
      EXPECT_THAT(unsealing(changed), StartsWith("refused f")) << changed;
    }
  }
  EXPECT_THAT(unsealing(sealed_json({{"rows", 1}}, "some 2")), HasSubstr("need a file of the format 'some 1'"));
  EXPECT_THAT(unsealing("{}"), HasSubstr("need a file of the format 'some 1'"));
  EXPECT_THAT(unsealing(sealed_json({{"rows", {{{{1}}}}}}, "some 1")), HasSubstr("nests deeper"));
}

}  // namespace
}  // namespace softcheck::models
