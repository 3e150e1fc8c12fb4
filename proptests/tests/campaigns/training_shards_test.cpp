// Networks that a campaign trains: the trainer's own bytes, whatever came between, and their spread over seeds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "experiments/network_tensors.hpp"
#include "experiments/safetensors.hpp"
#include "experiments/sha256.hpp"
#include "experiments/trained_models.hpp"
#include "experiments/training.hpp"
#include "judge/campaigns/campaign_report.hpp"
#include "judge/campaigns/merge.hpp"
#include "judge/campaigns/shard_file.hpp"
#include "judge/campaigns/shard_run.hpp"
#include "proptests/engine/interrupted.hpp"
#include "proptests/tests/campaigns/campaign_samples.hpp"

namespace softcheck::proptests {
namespace {

using ::testing::HasSubstr;

namespace fs = std::filesystem;

constexpr const char* small = R"([[trainings]]
network = "max-retrieval"
steps = 6
sets = 8
seed = [3, 4, 5]
test-sizes = [4, 16]
test-sets = 20
)";

ShardRun training_run(const fs::path& kept) {
  ShardRun run{"plan", "0.3.0", "abc", fs::current_path(), {}};
  run.kept = kept;
  run.network = fs::path(SOFTCHECK_KERNEL_DIR) / "libsoftcheck_cpu_kernels.so";
  return run;
}

std::vector<ShardFile> trained(const Plan& plan) {
  std::vector<ShardFile> files;
  for (const Shard& shard : plan.shards) {
    files.push_back(parse_shard_file(to_text(judge_shard(shard, training_run({})))));
  }
  return files;
}

const TrainingQuestion& training_of(const Shard& shard) {
  return std::get<TrainingQuestion>(shard.asked.front().about);
}

TEST(TrainingShards, MakeTheNetworkOfTheTrainer) {
  const Plan plan = parse_plan(small, "plan.toml");
  ASSERT_EQ(plan.shards.size(), 3U);
  std::set<std::string> hashes;
  for (const Shard& shard : plan.shards) {
    const JudgedAnswer answer = answer_of(training_of(shard), training_run({}));
    const auto& options = std::get<experiments::TrainingOptions>(training_of(shard).options);
    experiments::TrainingState state = experiments::start_training(options);
    float last = 0;
    experiments::train(state, options, [&](const experiments::TrainingState&, float loss) {
      last = loss;
      return true;
    });
    experiments::TensorFile file = experiments::tensors_of(state.parameters);
    file.metadata = experiments::training_metadata("softcheck 0.3.0 (commit abc)", experiments::to_text(options), last);
    ASSERT_TRUE(answer.network.has_value());
    EXPECT_EQ(answer.network->files.at("model.safetensors"), safetensors_bytes(file));
    EXPECT_EQ(answer.network->seed, options.seed);
    EXPECT_EQ(answer.network->metrics.front(), std::make_pair(std::string("last loss"), static_cast<double>(last)));
    ASSERT_EQ(answer.network->metrics.size(), 5U);
    for (const auto& [name, value] : answer.network->metrics) EXPECT_TRUE(std::isfinite(value)) << name;
    hashes.insert(answer.network->sha256());
  }
  EXPECT_EQ(hashes.size(), 3U);  // the seeds differ
}

// As a kill between any two steps: the next process goes on from what was kept, to the same bytes.
TEST(TrainingShards, GoOnWhereTheyWereInterrupted) {
  const ScratchFolder scratch;
  const TrainingQuestion asked = training_of(parse_plan(small, "plan.toml").shards.front());
  const std::string expected = answer_text(answer_of(asked, training_run({})));
  for (const int steps : {1, 3, 5}) {
    ShardRun run = training_run(scratch.path());
    int polls = 0;
    run.interrupted = [&] { return ++polls >= steps; };
    EXPECT_THROW(answer_of(asked, run), Interrupted);
    ASSERT_TRUE(fs::exists(saved_training(asked, run)));
    run.interrupted = {};
    const JudgedAnswer answer = answer_of(asked, run);
    EXPECT_EQ(answer.resumed_at, steps);
    EXPECT_EQ(answer_text(answer), expected);
    fs::remove(saved_training(asked, run));
  }
}

// The loss of the last step is in the file: a process that was killed behind that step has to make it again.
TEST(TrainingShards, TheLastStepIsNeverKept) {
  const ScratchFolder scratch;
  TrainingQuestion asked = training_of(parse_plan(small, "plan.toml").shards.front());
  ShardRun run = training_run(scratch.path());
  int polls = 0;
  run.interrupted = [&] { return ++polls >= 6; };
  EXPECT_NO_THROW(answer_of(asked, run));
  EXPECT_FALSE(fs::exists(saved_training(asked, run)));
}

TEST(TrainingShards, WhatWasKeptIsBoundToCommitAndOptions) {
  const ScratchFolder scratch;
  const Plan plan = parse_plan(small, "plan.toml");
  ShardRun run = training_run(scratch.path()), other = run;
  other.commit = "abd";
  EXPECT_NE(saved_training(training_of(plan.shards[0]), run), saved_training(training_of(plan.shards[0]), other));
  EXPECT_NE(saved_training(training_of(plan.shards[0]), run), saved_training(training_of(plan.shards[1]), run));
  // A damaged file is no reason to give up.
  const std::string expected = answer_text(answer_of(training_of(plan.shards[0]), training_run({})));
  write_file_atomically(saved_training(training_of(plan.shards[0]), run), "damaged");
  EXPECT_EQ(answer_text(answer_of(training_of(plan.shards[0]), run)), expected);
  forget_cached(plan.shards[0], run);
  EXPECT_FALSE(fs::exists(saved_training(training_of(plan.shards[0]), run)));
}

TEST(TrainingShards, ATrainingThatLeavesTheFiniteNumbersIsAnAnswer) {
  const ScratchFolder scratch;
  const Plan plan = parse_plan(small, "plan.toml");
  const ShardRun run = training_run(scratch.path());
  const TrainingQuestion& asked = training_of(plan.shards[0]);
  const auto& options = std::get<experiments::TrainingOptions>(asked.options);
  experiments::TrainingState state = experiments::start_training(options);
  for (float& parameter : state.parameters) parameter = 1e38F;  // the next step's products are infinite
  state.step = 1;
  experiments::write_checkpoint(saved_training(asked, run), state, options);
  std::vector<ShardFile> files = trained(plan);
  files[0].answers[0] = answer_of(asked, run);
  files[0].answers[0].asked = asked.text();
  EXPECT_EQ(files[0].answers[0].rows.front().verdict, ReportVerdict::fail);
  EXPECT_FALSE(files[0].answers[0].network.has_value());
  files[0] = parse_shard_file(to_text(files[0]));
  const MergedCampaign campaign = merge(plan, files);
  EXPECT_EQ(campaign.report().verdict(), ReportVerdict::fail);
  EXPECT_THAT(to_text(campaign), HasSubstr("a smaller learning-rate may help"));
  EXPECT_THAT(to_text(campaign), HasSubstr("2 of 3 networks"));
  EXPECT_EQ(adjacent_files(campaign).size(), 2U);
  EXPECT_THAT(to_html(campaign) + to_json(campaign), HasSubstr("training.finite"));
}

TEST(TrainingShards, AReportHasMeanAndSpreadOverSeeds) {
  const Plan plan = parse_plan(small, "plan.toml");
  std::vector<ShardFile> files = trained(plan);
  const MergedCampaign campaign = merge(plan, files);
  ASSERT_EQ(campaign.trainings.size(), 1U);
  std::vector<double> losses;
  for (const auto& network : campaign.trainings[0].networks) losses.push_back(network.made->metrics.front().second);
  ASSERT_EQ(losses.size(), 3U);
  const SeedSpread spread = spread_of(losses);
  EXPECT_EQ(spread.mean, (losses[0] + losses[1] + losses[2]) / 3);
  EXPECT_EQ(spread.least, std::ranges::min(losses));
  EXPECT_EQ(spread.largest, std::ranges::max(losses));
  const std::string text = to_text(campaign);
  EXPECT_THAT(text, HasSubstr("campaign: 3 trainings: 3 pass\n"));
  EXPECT_THAT(text, HasSubstr("last loss"));
  const auto auxiliary = adjacent_files(campaign);
  ASSERT_EQ(auxiliary.size(), 3U);
  EXPECT_THAT(text, HasSubstr(experiments::sha256(auxiliary.at("trained/1/seed-03.safetensors"))));
  EXPECT_THAT(text, HasSubstr(experiments::sha256(auxiliary.at("trained/1/seed-05.safetensors"))));
  // No order of files, and no other machine's time, is seen.
  std::ranges::reverse(files);
  files[0].answers[0].seconds = 1e6;
  files[0].answers[0].resumed_at = 5;
  const MergedCampaign again = merge(plan, files);
  EXPECT_EQ(to_text(again) + to_json(again) + to_html(again), text + to_json(campaign) + to_html(campaign));
}

TEST(TrainingShards, ADeviationIsThatOfASample) {
  const SeedSpread spread = spread_of({1, 2, 6});
  EXPECT_EQ(spread.mean, 3);
  EXPECT_EQ(spread.deviation, std::sqrt(7.0));  // (4 + 1 + 9) / 2
  EXPECT_TRUE(std::isnan(spread_of({1}).deviation));
  EXPECT_THROW(spread_of({}), std::invalid_argument);
}

TEST(TrainingShards, TrainLanguageModelsToo) {
  const ScratchFolder scratch;
  const Plan plan = parse_plan(R"([[trainings]]
network = "language"
steps = 3
tokens = 64
layers = 1
width = 16
heads = 1
inner = 16
warm-up = 1
test-sizes = 4
test-sets = 1
)",
                               "plan.toml");
  const TrainingQuestion& asked = training_of(plan.shards[0]);
  const JudgedAnswer whole = answer_of(asked, training_run({}));
  ShardRun run = training_run(scratch.path());
  int polls = 0;
  run.interrupted = [&] { return ++polls >= 2; };
  EXPECT_THROW(answer_of(asked, run), Interrupted);
  run.interrupted = {};
  const JudgedAnswer resumed = answer_of(asked, run);
  EXPECT_EQ(resumed.resumed_at, 2);
  EXPECT_EQ(answer_text(resumed), answer_text(whole));
  const fs::path model = scratch.path() / "model";
  const auto auxiliary = adjacent_files(merge(plan, trained(plan)));
  ASSERT_EQ(auxiliary.size(), 2U);
  fs::create_directories(model);
  for (const auto& [name, bytes] : auxiliary) write_file_atomically(model / fs::path(name).filename(), bytes);
  const experiments::LanguageModel read = experiments::read_language_model(model);
  EXPECT_EQ(read.options, asked.words());
}

TEST(TrainingShards, Base64IsThatOfTheStandard) {
  // RFC 4648, section 10.
  const std::pair<std::string, std::string> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"},
                                                         {std::string("\0\xff\xfe", 3), "AP/+"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(base64(bytes), text);
    EXPECT_EQ(bytes_of_base64(text), bytes);
  }
  for (const char* wrong : {"Zg=", "Zg", "Z===", "Zm9v\n", "Zm9=Zm9v", "Zm\xff="}) {
    EXPECT_THROW(bytes_of_base64(wrong), std::invalid_argument) << wrong;
  }
}

}  // namespace
}  // namespace softcheck::proptests
