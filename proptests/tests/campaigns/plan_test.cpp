#include "judge/campaigns/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <variant>
#include <vector>

#include "judge/campaigns/shard_folder.hpp"

namespace softcheck::proptests {
namespace {

using ::testing::HasSubstr;

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
    for (const Question& asked : shard.asked) texts.insert(asked.text());
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
  EXPECT_THAT(*texts_of(parse_plan(head + wide, "plan.toml")).begin(), HasSubstr("--out-dtype f16"));
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
    EXPECT_THAT(error_of(text), HasSubstr(said)) << text;
  }
}

constexpr const char* mixed = R"(
seed = [1, 2]
[[kernels]]
kernel = "a.so:f"
[[models]]
model = ["tiny", "other/tiny.gguf"]
layers = "0-3"
eps = 0.25
fail-if = ["logit.f16 > 65504"]
shard = 3
[[trainings]]
network = "max-retrieval"
head = ["softmax", "sink"]
steps = 100
seed = [7, 8, 9]
[[trainings]]
network = "language"
temperature = "adaptive"
width = 64
)";

TEST(CampaignPlan, HasModelsByLayersAndTrainingsBySeeds) {
  const Plan plan = parse_plan(mixed, "plan.toml");
  std::vector<std::size_t> sizes;
  std::vector<std::string> texts;
  for (const Shard& shard : plan.shards) {
    sizes.push_back(shard.asked.size());
    for (const Question& asked : shard.asked) texts.push_back(asked.text());
  }
  // Two judgements, two models of four layers in shards of at most three, seven trainings.
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1, 1, 3, 1, 3, 1, 1, 1, 1, 1, 1, 1, 1}));
  ASSERT_EQ(texts.size(), 17U);
  EXPECT_EQ(texts[3], "softcheck model 'tiny' --layers 1 --eps 0.25 --fail-if 'logit.f16 > 65504'");
  EXPECT_THAT(texts[9], HasSubstr("'other/tiny.gguf' --layers 3"));
  EXPECT_THAT(texts[10], HasSubstr("train seed=7 steps=100 "));
  EXPECT_THAT(texts[11], HasSubstr("train seed=8 steps=100 "));
  EXPECT_THAT(texts[13], HasSubstr("head=sink"));
  EXPECT_THAT(texts[16], HasSubstr("train-language model=language seed=1 "));
  EXPECT_THAT(texts[16], HasSubstr("temperature=adaptive"));
}

TEST(CampaignPlan, EveryKeyOfALayerAndATrainingIsInItsText) {
  const auto first = [](const std::string& text) { return parse_plan(text, "plan.toml").shards[0].asked[0].text(); };
  const std::string model = "[[models]]\nmodel = \"m\"\nlayers = \"0-1\"\n";
  std::set<std::string> texts{first(model)};
  for (const char* word : {"eps = 0.2", "n = 99", "context = true", "vocabulary = true", "fail-if = \"score > 1\""}) {
    EXPECT_TRUE(texts.insert(first(model + word)).second) << word;
  }
  const std::string network = "[[trainings]]\nnetwork = \"max-retrieval\"\n";
  texts = {first(network)};
  for (const char* word : {"seed = 2", "steps = 9", "learning-rate = 0.5", "cosine = true", "decay = \"none\"",
                           "head = \"sink\"", "lambda = 0.5", "decay-biases = true", "sets = 9", "smallest-set = 6",
                           "largest-set = 9", "test-sizes = 9", "test-sets = 9"}) {
    EXPECT_TRUE(texts.insert(first(network + word)).second) << word;
  }
  const std::string language = "[[trainings]]\nnetwork = \"language\"\n";
  EXPECT_TRUE(texts.insert(first(language)).second);
  for (const char* word :
       {"seed = 2", "steps = 9", "learning-rate = 0.5", "warm-up = 9", "decay = 0.5", "clip = 0.5", "tokens = 9",
        "smallest = 5", "largest = 9", "layers = 1", "width = 64", "heads = 1", "inner = 32", "positions = \"none\"",
        "temperature = \"adaptive\"", "attention = \"sink\"", "test-sizes = 9", "test-sets = 9"}) {
    EXPECT_TRUE(texts.insert(first(language + word)).second) << word;
  }
}

// The layer alone differs between the layers of one report, and the seed between the networks of one table.
TEST(CampaignPlan, AQuestionIsTheTextWithoutLayerOrSeed) {
  std::set<std::string> questions;
  for (const Shard& shard : parse_plan(mixed, "plan.toml").shards) {
    for (const Question& asked : shard.asked) {
      if (const auto* layer = std::get_if<LayerQuestion>(&asked.about)) questions.insert(layer->question());
      if (const auto* training = std::get_if<TrainingQuestion>(&asked.about)) questions.insert(training->question());
    }
  }
  EXPECT_EQ(questions.size(), 5U);  // two models, two heads, a language model
  for (const std::string& question : questions) {
    EXPECT_THAT(question, ::testing::Not(HasSubstr("seed")));
    EXPECT_THAT(question, ::testing::Not(HasSubstr("--layers")));
  }
}

TEST(CampaignPlan, WhatIsWrongWithModelsAndTrainingsIsOneLine) {
  const std::string model = "[[models]]\nmodel = \"m\"\nlayers = \"0-1\"\n";
  const std::string network = "[[trainings]]\nnetwork = \"max-retrieval\"\n";
  const std::string language = "[[trainings]]\nnetwork = \"language\"\n";
  for (const auto& [text, said] : std::initializer_list<std::pair<std::string, std::string>>{
           {"models = 3", "plan.toml:1: need [[models]], got models = 3"},
           {"trainings = \"x\"", "plan.toml:1: need [[trainings]], got trainings = 'x'"},
           {"[[models]]\nlayers = \"0\"", "plan.toml:1: need model = \"PATH\" in [[models]], got none"},
           {"[[models]]\nmodel = \"m\"", "plan.toml:1: need layers = \"0-31\" in [[models]], got none"},
           {"[[models]]\nmodel = 3\nlayers = \"0\"", "plan.toml:2: model: need the path of a checkpoint"},
           {"[[models]]\nmodel = []\nlayers = \"0\"", "plan.toml:2: model: need the path of a checkpoint"},
           {"[[models]]\nmodel = \"m\"\nlayers = \"3-1\"",
            "plan.toml:3: layers: need the layers of the model, as \"0-31\" or \"3\", got \"3-1\""},
           {"[[models]]\nmodel = \"m\"\nlayers = 3", "plan.toml:3: layers: need the layers of the model"},
           {model + "eps = 1", "plan.toml:4: eps: need a number from 1e-300 to 1, got 1"},
           {model + "n = 0", "plan.toml:4: n: need an integer from 1 to"},
           {model + "context = 1", "plan.toml:4: context: need true or false, got 1"},
           {model + "fail-if = \"speed > 1\"", "plan.toml:4: fail-if: need one of spread.product"},
           {model + "shard = 0", "plan.toml:4: shard: need an integer from 1 to 1000000, got 0"},
           {model + "tokens = \"a\"",
            "plan.toml:4: need model, layers, eps, n, context, vocabulary, fail-if or shard, got 'tokens'"},
           {"[[models]]\nmodel = \"m\"\nlayers = \"2-3\"\nvocabulary = true",
            "plan.toml:1: vocabulary: need layer 0 among the layers, got 2-3"},
           {"[[trainings]]\nsteps = 3", "plan.toml:1: need network = \"max-retrieval\" or \"language\""},
           {"[[trainings]]\nnetwork = \"mlp\"",
            "plan.toml:2: network: need \"max-retrieval\" or \"language\", got \"mlp\""},
           {network + "width = 3", "plan.toml:3: need network, seed, test-sizes, test-sets, head"},
           {language + "lambda = 3", "plan.toml:3: need network, seed, test-sizes, test-sets, attention"},
           {network + "head = \"max\"", "plan.toml:3: head: need one of softmax"},
           {network + "decay = 3", "plan.toml:3: decay: need a word, or a list of words, got 3"},
           {network + "steps = [1, 0]", "plan.toml:3: steps: need an integer from 1 to 1099511627776, got 0"},
           {network + "learning-rate = nan", "plan.toml:3: learning-rate: need a number from 1e-09 to 10, got nan"},
           {network + "cosine = [true]", "plan.toml:3: cosine: need true or false, got [true]"},
           {network + "smallest-set = 9\nlargest-set = 8",
            "plan.toml:1: largest-set: need at least smallest-set, 9, got 8"},
           {language + "temperature = \"warm\"", "plan.toml:3: temperature: need plain or adaptive, got 'warm'"},
           {language + "heads = 3", "plan.toml:1: "},
           {language + "largest = 3", "plan.toml:1: largest: need at least smallest, 4, got 3"},
           {network + "seed = -1", "plan.toml:3: seed: need an integer from 0"},
       }) {
    EXPECT_THAT(error_of(text), ::testing::StartsWith(said)) << text;
    EXPECT_EQ(error_of(text).find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace softcheck::proptests
