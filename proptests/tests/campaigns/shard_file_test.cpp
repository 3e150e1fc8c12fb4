#include "judge/campaigns/shard_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "experiments/sha256.hpp"
#include "judge/campaigns/shard_folder.hpp"
#include "proptests/tests/campaigns/campaign_samples.hpp"
#include "proptests/tests/campaigns/state_folder.hpp"

namespace softcheck::proptests {
namespace {

namespace fs = std::filesystem;

TEST(ShardFiles, ReadBackAsTheyWereWritten) {
  for (const ShardFile& file : sample_campaign(3).files) {
    const std::string text = to_text(file);
    const ShardFile read = parse_shard_file(text);
    EXPECT_EQ(to_text(read), text);
    EXPECT_EQ(read.key, file.key);
    EXPECT_EQ(read.plan, file.plan);
    EXPECT_EQ(read.commit, file.commit);
    EXPECT_EQ(read.host, file.host);
    ASSERT_EQ(read.answers.size(), file.answers.size());
    for (std::size_t i = 0; i < read.answers.size(); ++i) {
      const JudgedAnswer &a = read.answers[i], &b = file.answers[i];
      EXPECT_EQ(a.asked, b.asked);
      EXPECT_EQ(a.seconds, b.seconds);
      EXPECT_EQ(a.printed, b.printed);
      ASSERT_EQ(a.rows.size(), b.rows.size());
      EXPECT_EQ(a.rows[0].slack, b.rows[0].slack);
      EXPECT_EQ(a.rows[0].errors->largest_share, b.rows[0].errors->largest_share);
      EXPECT_TRUE(std::isnan(a.rows[0].errors->worst_ulps));
      EXPECT_EQ(a.rows[1].not_tried, b.rows[1].not_tried);
      EXPECT_TRUE(std::isnan(a.rows[1].slack));
    }
  }
}

// A disk that was full, a machine that lost its power, a hand that changed a verdict.
TEST(ShardFiles, WhatWasCutOffOrChangedIsNoShard) {
  const std::string text = to_text(sample_campaign(1).files.front());
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_THROW(parse_shard_file(text.substr(0, size)), std::invalid_argument) << size;
  }
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = changed[at] == '1' ? '2' : '1';
    EXPECT_THROW(parse_shard_file(changed), std::invalid_argument) << at;
  }
  EXPECT_THROW(parse_shard_file(text + text), std::invalid_argument);
  EXPECT_THROW(parse_shard_file(text + "\n"), std::invalid_argument);
  EXPECT_THROW(parse_shard_file("{}\n"), std::invalid_argument);
}

// Its digest is right: whatever writes a file can write that, too.
TEST(ShardFiles, NestedJsonOfAnyDepthIsRefused) {
  std::string text = to_text(sample_campaign(1).files.front());
  constexpr std::size_t depth = 1000000;
  const std::string nested = R"("layer":)" + std::string(depth, '[') + std::string(depth, ']') + ",";
  text.insert(text.find(R"("asked":)"), nested);
  text.resize(text.rfind(R"({"end":)"));
  const std::string digest = experiments::sha256(text);
  text += R"({"end":)" + std::to_string(sample_campaign(1).files.front().answers.size()) + R"(,"sha256":")" + digest +
          "\"}\n";
  EXPECT_THROW(parse_shard_file(text), std::invalid_argument);
}

TEST(ShardFiles, TheMachineIsNoPartOfTheAnswer) {
  JudgedAnswer here = sample_campaign(1).files.front().answers.front(), there = here;
  there.seconds *= 2;
  there.isolation = "none";
  there.printed = {"0x7e"};
  EXPECT_EQ(answer_text(here), answer_text(there));
  there.rows[0].slack = std::nextafter(there.rows[0].errors->largest_share, 1);
  EXPECT_NE(answer_text(here), answer_text(there));
}

TEST(ShardFiles, AFolderKnowsWhatIsFinished) {
  const ScratchFolder scratch;
  fs::create_directories(scratch.path() / "shards");
  const ShardFolder folder(scratch.path());
  SampleCampaign sample = sample_campaign(5);
  const auto states = [&](const std::string& digest) {
    return folder.states(sample.plan, "abc", [&](const Question&) { return digest; });
  };
  for (const ShardState state : states("d1")) EXPECT_EQ(state, ShardState::missing);
  const std::vector<Shard>& shards = sample.plan.shards;
  write_shard_file(folder.path_of(shards[0]), to_text(sample.files[0]));
  std::ofstream(folder.path_of(shards[1])) << to_text(sample.files[1]).substr(0, 300);
  sample.files[2].commit = "abd";
  write_shard_file(folder.path_of(shards[2]), to_text(sample.files[2]));
  write_shard_file(folder.path_of(shards[3]), to_text(sample.files[0]));  // another shard's, by its name
  ASSERT_EQ(::mkfifo(folder.path_of(shards[4]).c_str(), 0600), 0);        // which nothing will ever write to
  using enum ShardState;
  EXPECT_EQ(states("d1"), (std::vector{finished, damaged, other, damaged, damaged}));
  EXPECT_EQ(states("d2"), (std::vector{other, damaged, other, damaged, damaged}));  // the library was built anew
  EXPECT_EQ(states(""), states("d1"));                                              // it is not here: not compared
  EXPECT_EQ(folder.read(sample.plan).size(), 2U);
  // Only whole files have their names.
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(scratch.path() / "shards")) {
    files += entry.path().extension() == ".jsonl" ? 1 : 100;
  }
  EXPECT_EQ(files, 5U);
}

TEST(ShardFiles, AFullDiskLeavesNothing) {
  const ScratchFolder scratch;
  fs::create_directories(scratch.path() / "shards");
  const fs::path none = scratch.path() / "none" / "key.jsonl";
  EXPECT_THROW(write_shard_file(none, "text"), std::runtime_error);
  const fs::path folder = scratch.path() / "shards" / "key.jsonl";
  fs::create_directory(folder);  // nothing can be renamed to it
  EXPECT_THROW(write_shard_file(folder, "text"), std::runtime_error);
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path() / "shards"), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace softcheck::proptests
