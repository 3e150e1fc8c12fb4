// A run that was interrupted goes on where it was: no head is certified twice, and no number differs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "models/read/file_errors.hpp"
#include "models/read/strict_json.hpp"
#include "models/report/checkpoint_run.hpp"
#include "models/report/stored_report.hpp"
#include "proptests/tests/models/observed_heads.hpp"

namespace softcheck::models {
namespace {

namespace fs = std::filesystem;

struct Scratch {
  fs::path folder = fs::path(testing::TempDir()) / ("kept_heads." + std::to_string(::getpid()));
  Scratch() { fs::create_directories(folder); }
  ~Scratch() { fs::remove_all(folder); }
};

fs::path folder_of(const std::string& name) {
  for (const fs::path& folder : observed_folders()) {
    if (folder.filename() == name) return folder;
  }
  throw std::runtime_error("no checkpoint " + name);
}

std::string json_without_time(CheckpointReport report) {
  report.seconds = 0;
  return to_json(report, "");
}

CheckpointQuestion question_of(const std::string& model, const fs::path& kept) {
  CheckpointQuestion question;
  question.path = folder_of(model).string();
  question.threads = 1;
  question.resume = kept.string();
  question.version = "1";
  question.options.context = true;
  return question;
}

std::string contents(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

// One list of models with sinks, windows, softcaps, infinite context forms and none.
TEST(SavedHeads, AnInterruptedRunGoesOnToTheSameReport) {
  const Scratch scratch;
  for (const std::string model : {"bert", "gpt_oss", "gemma2", "qwen3", "phi3"}) {
    SCOPED_TRACE(model);
    const fs::path kept = scratch.folder / (model + ".kept");
    CheckpointQuestion whole = question_of(model, "");
    whole.resume.clear();
    const CheckpointReport expected = certify_checkpoint(whole);
    CheckpointQuestion question = question_of(model, kept);
    int asked = 0, certified = 0;
    question.progress = [&](int, std::size_t, std::size_t) { ++certified; };
    question.stop = [&] { return ++asked > 3; };
    const CheckpointReport part = certify_checkpoint(question);
    EXPECT_EQ(part.heads.size(), 3U);
    EXPECT_EQ(part.asked, expected.heads.size());
    ASSERT_TRUE(fs::exists(kept));
    EXPECT_FALSE(fs::exists(kept.string() + ".partial"));
    question.stop = {};
    const CheckpointReport rest = certify_checkpoint(question);
    EXPECT_EQ(certified, static_cast<int>(expected.heads.size())) << "a head was certified twice";
    EXPECT_EQ(json_without_time(rest), json_without_time(expected));
    EXPECT_EQ(to_table(rest, 0), to_table(expected, 0));
    EXPECT_EQ(rest.certificates.size(), expected.certificates.size());
    EXPECT_FALSE(fs::exists(kept)) << "what is complete needs no file to go on from";
  }
}

TEST(SavedHeads, AnInterruptedEnumerationIsNotDone) {
  const Scratch scratch;
  const fs::path kept = scratch.folder / "bert.kept";
  CheckpointQuestion question = question_of("bert", kept);
  question.vocabulary = true;
  int asked = 0;
  question.stop = [&] { return ++asked > 9; };  // after its 8 heads
  const CheckpointReport part = certify_checkpoint(question);
  EXPECT_EQ(part.asked, 8U);
  EXPECT_EQ(part.heads.size(), 4U);
  ASSERT_TRUE(fs::exists(kept));
  question.stop = {};
  const CheckpointReport rest = certify_checkpoint(question);
  EXPECT_EQ(rest.heads.size(), 8U);
  EXPECT_TRUE(rest.heads.front().enumerated_spread && !rest.heads.back().enumerated_spread);
}

TEST(SavedHeads, AFileOfAnotherQuestionCheckpointOrVersionIsRefused) {
  const Scratch scratch;
  const fs::path kept = scratch.folder / "kept";
  CheckpointQuestion question = question_of("bert", kept);
  int asked = 0;
  question.stop = [&] { return ++asked > 3; };
  certify_checkpoint(question);
  const std::string before = contents(kept);
  const auto refused = [&](CheckpointQuestion other) {
    EXPECT_THROW(certify_checkpoint(other), TensorFileError);
    EXPECT_EQ(contents(kept), before) << "a file that is refused stays as it is";
  };
  refused(question_of("roberta", kept));
  CheckpointQuestion other = question;
  other.version = "2";
  refused(other);
  other = question;
  other.options.eps = 0.2;
  refused(other);
  other = question;
  other.options.items = 5;
  refused(other);
  other = question;
  other.options.context = false;
  refused(other);
  // The same names, another time of a tensor file.
  const fs::path copy = scratch.folder / "bert";
  fs::copy(folder_of("bert"), copy);
  other = question;
  other.path = copy.string();
  refused(other);
}

TEST(SavedHeads, ADamagedFileIsRefused) {
  const Scratch scratch;
  const fs::path kept = scratch.folder / "kept";
  CheckpointQuestion question = question_of("gpt_oss", kept);
  int asked = 0;
  question.stop = [&] { return ++asked > 3; };
  certify_checkpoint(question);
  const std::string text = contents(kept);
  const auto refused = [&](const std::string& damaged) {
    std::ofstream(kept, std::ios::binary) << damaged;
    EXPECT_THROW(certify_checkpoint(question), TensorFileError) << damaged.substr(0, 200);
  };
  refused("");
  refused("{}");
  refused("[]");
  for (std::size_t cut = 1; cut + 2 < text.size(); cut += 97) refused(text.substr(0, cut));
  for (const std::string word : {"\"layer\"", "\"head\"", "\"domain\"", "\"items\"", "\"intervals\"", "\"sink\"",
                                 "\"context\"", "\"disperses\"", "\"format\"", "\"identity\""}) {
    std::string damaged = text;
    damaged.replace(damaged.find(word), 2, "\"X");
    refused(damaged);
  }
  std::string turned = text;  // an interval whose ends are the wrong way round
  const std::size_t at = turned.find("\"intervals\":[[") + 14;
  turned.replace(at, turned.find(']', at) - at, "2.0,1.0");
  refused(turned);
  std::string tighter = text;  // an end that a certificate could have
  const std::size_t digit = tighter.find_first_of("123456789", tighter.find("\"intervals\":[["));
  tighter[digit] = tighter[digit] == '1' ? '2' : '1';
  refused(tighter);
}

using ::testing::HasSubstr;
using ::testing::StartsWith;
using SealedContents = nlohmann::json;

// What a run goes on from is what the run before has written, or is refused.

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

// A campaign's parts of a report keep where each stack of layers begins.
TEST(StoredReport, HasTheStacksOfItsModel) {
  CheckpointQuestion question;
  question.path = folder_of("whisper").string();
  question.threads = 1;
  const CheckpointReport report = certify_checkpoint(question);
  const CheckpointReport read = report_from(stored_report(report));
  EXPECT_EQ(to_table(read, 0), to_table(report, 0));
  EXPECT_THAT(to_table(read, 1), ::testing::HasSubstr("  decoder from layer 2 on: 2 layers of 2 heads, width 32"));
  const auto json = nlohmann::json::parse(to_json(read, ""));
  EXPECT_EQ(json["model"]["heads"], 12);
  EXPECT_EQ(json["model"]["parts"][2]["name"], "cross-attention");
  EXPECT_EQ(json["model"]["parts"][2]["context"], 11);
}

}  // namespace
}  // namespace softcheck::models
