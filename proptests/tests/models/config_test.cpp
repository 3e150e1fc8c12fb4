// A configuration answers by path, and refuses a value of another kind by its key.
#include "models/read/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "models/read/file_errors.hpp"

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

}  // namespace
}  // namespace softcheck::proptests
