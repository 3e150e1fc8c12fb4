#include "judge/campaigns/shard_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "judge/campaigns/worker_pool.hpp"
#include "proptests/engine/interrupted.hpp"
#include "proptests/tests/campaigns/state_folder.hpp"

namespace softcheck::proptests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kernels = R"(
seed = [7, 8]
cases = 6
shard = 2
domain = "n<=32 theta=1 compact nomask"
[[kernels]]
kernel = ["libsoftcheck_zoo.so:correct_two_pass", "libsoftcheck_zoo.so:mutant_no_max_shift"]
)";

ShardRun run_of(const Plan& plan) {
  return {plan.hash, "0.2.0", "abc", SOFTCHECK_KERNEL_DIR, library_digests(plan, SOFTCHECK_KERNEL_DIR)};
}

/// What each shard's answers are when every shard is judged in a process of its own.
std::vector<std::string> judged_in_forks(const Plan& plan, unsigned processes) {
  const ScratchFolder scratch;
  const std::filesystem::path& folder = scratch.path();
  const ShardRun run = run_of(plan);
  PoolOptions options;
  options.processes = processes;
  const auto job = [&](std::size_t shard) {
    std::string text;
    for (const JudgedAnswer& answer : judge_shard(plan.shards[shard], run).answers) text += answer_text(answer) + "\n";
    std::ofstream(folder / std::to_string(shard)) << text;
  };
  EXPECT_EQ(run_in_forks(plan.shards.size(), job, options).done, plan.shards.size());
  std::vector<std::string> answers;
  for (std::size_t shard = 0; shard < plan.shards.size(); ++shard) {
    std::ifstream file(folder / std::to_string(shard));
    answers.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return answers;
}

TEST(ShardRuns, AnswersDoNotDependOnTheWorker) {
  const Plan plan = parse_plan(kernels, "plan.toml");
  ASSERT_EQ(plan.shards.size(), 2U);
  const std::vector<std::string> once = judged_in_forks(plan, 1);
  EXPECT_EQ(judged_in_forks(plan, 2), once);
  // The test could see a seed: two of them differ.
  const std::string& correct = once[0];
  const std::string first = correct.substr(0, correct.find('\n')), second = correct.substr(correct.find('\n') + 1);
  const auto without_seed = [](std::string text) {
    for (const char* seed : {"--seed 7", "--seed 8", "seed 7", "seed 8"}) {
      for (std::size_t at = text.find(seed); at != std::string::npos; at = text.find(seed)) text.erase(at, 8);
    }
    return text;
  };
  EXPECT_NE(without_seed(first) + "\n", without_seed(second));
}

TEST(ShardRuns, AnswersHaveVerdictsAndNoMachine) {
  const Plan plan = parse_plan(kernels, "plan.toml");
  const std::vector<std::string> answers = judged_in_forks(plan, 2);
  EXPECT_THAT(answers[0], Not(HasSubstr("\"fail\"")));
  EXPECT_THAT(answers[1], HasSubstr("\"fail\""));
  for (const std::string& text : answers) {
    EXPECT_THAT(text, Not(HasSubstr(SOFTCHECK_KERNEL_DIR)));
    EXPECT_THAT(text, Not(HasSubstr("isolation")));
    EXPECT_THAT(text, Not(HasSubstr("seconds")));
  }
}

TEST(ShardRuns, AMissingLibraryIsNoAnswerAndAMissingSymbolIsOne) {
  const StateFolder folder;
  const Plan none = parse_plan("[[kernels]]\nkernel = \"none.so:f\"\n", "plan.toml");
  EXPECT_THROW(judge_shard(none.shards[0], run_of(none)), KernelLoadError);
  const Plan symbol = parse_plan("[[kernels]]\nkernel = \"libsoftcheck_zoo.so:none\"\n", "plan.toml");
  const ShardFile file = judge_shard(symbol.shards[0], run_of(symbol));
  ASSERT_EQ(file.answers.size(), 1U);
  EXPECT_EQ(Report{file.answers[0].rows}.verdict(), ReportVerdict::refused);
}

TEST(ShardRuns, AnInterruptedShardIsNoShard) {
  const StateFolder folder;
  const Plan plan = parse_plan(kernels, "plan.toml");
  ShardRun run = run_of(plan);
  int asked = 0;
  run.interrupted = [&] { return ++asked < 0; };
  EXPECT_NO_THROW(judge_shard(plan.shards[0], run));
  // At the begin, and when some properties have an outcome.
  for (const int last : {20, asked / 2}) {
    asked = 0;
    run.interrupted = [&] { return ++asked > last; };
    EXPECT_THROW(judge_shard(plan.shards[0], run), Interrupted) << last;
  }
}

}  // namespace
}  // namespace softcheck::proptests
