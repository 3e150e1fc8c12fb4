#include "proptests/campaigns/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "proptests/campaigns/shard_folder.hpp"

namespace softcheck::proptests {
namespace {

constexpr const char* product = R"(
name = "all"
seed = [1, 2]
[[kernels]]
kernel = ["a.so:f", "lib/b.so:g"]
op = ["softmax", "logsumexp"]
dtype = ["f32", "bf16"]
contract = ["", "sum=tree"]
effort = ["quick", "default"]
)";

std::set<std::string> texts_of(const Plan& plan) {
  std::set<std::string> texts;
  for (const Shard& shard : plan.shards) {
    for (const Asked& asked : shard.asked) texts.insert(asked.text());
  }
  return texts;
}

std::string error_of(const std::string& text) {
  try {
    parse_plan(text, "plan.toml");
  } catch (const PlanError& error) {
    return error.what();
  }
  return "none";
}

TEST(CampaignPlan, IsTheProductOfItsLists) {
  const Plan plan = parse_plan(product, "plan.toml");
  EXPECT_EQ(plan.name, "all");
  EXPECT_EQ(plan.asked(), 64U);
  EXPECT_EQ(plan.shards.size(), 64U);
  const std::set<std::string> texts = texts_of(plan);
  EXPECT_EQ(texts.size(), 64U);
  EXPECT_TRUE(
      texts.contains("softcheck kernel 'lib/b.so:g' --op logsumexp --dtype bf16 --contract 'sum=tree' "
                     "--effort default --seed 2"))
      << *texts.rbegin();
}

// What decides an answer is in the text; then no other judgement passes for it.
TEST(CampaignPlan, EveryKeyOfAJudgementIsInItsText) {
  const std::string head = "[[kernels]]\nkernel = \"a.so:f\"\n";
  std::set<std::string> texts = texts_of(parse_plan(head, "plan.toml"));
  for (const char* word : {"op = \"logsumexp\"", "dtype = \"f16\"", "contract = \"sum=tree\"", "domain = \"n<=8\"",
                           "require = \"deterministic\"", "exempt = [\"kernel.nan_row\"]", "effort = \"deep\"",
                           "seed = 5", "cases = 7", "time-limit = 3"}) {
    const std::set<std::string> more = texts_of(parse_plan(head + word, "plan.toml"));
    EXPECT_FALSE(texts.contains(*more.begin())) << word;
    texts.insert(more.begin(), more.end());
  }
  const std::string wide = "op = \"logsumexp\"\ndtype = \"f16\"\nout-dtype = \"f16\"";
  EXPECT_THAT(*texts_of(parse_plan(head + wide, "plan.toml")).begin(), ::testing::HasSubstr("--out-dtype f16"));
}

TEST(CampaignPlan, ShardsDependOnJudgementsAlone) {
  const Plan plan = parse_plan(product, "plan.toml");
  // Comments, order of keys and defaults that are said do not count; the same judgement twice is made once.
  const Plan same = parse_plan(std::string("# a comment\n") + product + "require = \"\"\n", "elsewhere.toml");
  EXPECT_EQ(same.hash, plan.hash);
  const Plan twice = parse_plan(std::string(product) + "[[kernels]]\nkernel = \"a.so:f\"\n", "plan.toml");
  EXPECT_EQ(twice.hash, plan.hash);
  // A plan that grows keeps the keys of what it had.
  const Plan grown = parse_plan(std::string(product) + "[[kernels]]\nkernel = \"c.so:f\"\n", "plan.toml");
  ASSERT_EQ(grown.shards.size(), plan.shards.size() + 2);
  for (std::size_t i = 0; i < plan.shards.size(); ++i) EXPECT_EQ(grown.shards[i].key, plan.shards[i].key);
  EXPECT_NE(grown.hash, plan.hash);
}

TEST(CampaignPlan, ShardsHoldEveryJudgementOnce) {
  const std::set<std::string> all = texts_of(parse_plan(product, "plan.toml"));
  for (const int per_shard : {2, 5, 64, 1000}) {
    const Plan plan = parse_plan("shard = " + std::to_string(per_shard) + product, "plan.toml");
    EXPECT_EQ(plan.asked(), all.size());
    EXPECT_EQ(texts_of(plan), all);
    std::set<std::string> keys;
    for (const Shard& shard : plan.shards) {
      EXPECT_LE(shard.asked.size(), static_cast<std::size_t>(per_shard));
      keys.insert(shard.key);
    }
    EXPECT_EQ(keys.size(), plan.shards.size());
  }
}

TEST(CampaignPlan, SharesAreAPartition) {
  for (const std::size_t shards : {0U, 1U, 7U, 64U}) {
    for (const std::size_t shares : {1U, 2U, 3U, 100U}) {
      std::multiset<std::size_t> seen;
      for (std::size_t share = 1; share <= shares; ++share) {
        for (const std::size_t number : share_of(shards, share, shares)) seen.insert(number);
      }
      EXPECT_EQ(seen.size(), shards);
      EXPECT_EQ(seen.empty() ? 0 : *seen.rbegin(), shards);
      EXPECT_EQ(std::set<std::size_t>(seen.begin(), seen.end()).size(), shards);
    }
  }
  EXPECT_THROW(share_of(3, 0, 2), std::invalid_argument);
  EXPECT_THROW(share_of(3, 3, 2), std::invalid_argument);
}

TEST(CampaignPlan, WhatIsWrongIsSaidWithItsLine) {
  const std::string head = "[[kernels]]\nkernel = \"a.so:f\"\n";
  for (const auto& [text, said] : std::initializer_list<std::pair<std::string, std::string>>{
           {"kernels = ", "plan.toml:1: "},
           {"", "plan.toml: need [[kernels]], [[models]] or [[trainings]], got none"},
           {"kernels = 3", "plan.toml:1: need [[kernels]]"},
           {"[[kernels]]\nop = \"softmax\"", "plan.toml:1: need kernel = \"LIB:SYMBOL\""},
           {"[[kernels]]\nkernel = \"f\"", "LIB:SYMBOL"},
           {"kernel = \"a.so:f\"\n" + head, "plan.toml:1: need name, shard, a key of [[kernels]]"},
           {"speed = 1\n" + head,
            "plan.toml:1: need name, shard, a key of [[kernels]], [[kernels]], [[models]] or [[trainings]], got "
            "'speed'"},
           {head + "seeds = 1", "plan.toml:3: need kernel, op, dtype"},
           {head + "op = \"softmin\"", "softmin"},
           {head + "op = []", "plan.toml:3: op: need at least one"},
           {head + "op = 3", "plan.toml:3: op: need a string"},
           {head + "dtype = \"half\"", "dtype: need "},
           {head + "out-dtype = \"f64\"", "out-dtype: need "},
           {head + "contract = \"sum=fast\"", "sum=sequential"},
           {head + "domain = \"packed\"", "packed"},
           {head + "require = \"fast\"", "deterministic"},
           {head + "op = \"entropy\"\nrequire = \"in-place\"", "in-place"},
           {head + "exempt = [\"kernel.speed\"]", "kernel.speed"},
           {head + "effort = \"most\"", "quick"},
           {head + "op = \"attention\"\neffort = \"exhaustive\"", "exhaustive"},
           {head + "seed = -1", "plan.toml:3: seed: need an integer from 0"},
           {head + "seed = 1.5", "plan.toml:3: seed: need an integer"},
           {head + "cases = 0", "plan.toml:3: cases: need an integer from 1"},
           {head + "time-limit = nan", "plan.toml:3: time-limit"},
           {"shard = 0\n" + head, "plan.toml:1: shard: need an integer from 1"},
       }) {
    EXPECT_THAT(error_of(text), ::testing::HasSubstr(said)) << text;
  }
}

}  // namespace
}  // namespace softcheck::proptests
