// A judgement that is ended early: by its budget, or by its user.
#include <chrono>
#include <ctime>
#include <thread>

#include "judge/sandbox/watched_kernel.hpp"
#include "judge/trial/property_schedule.hpp"
#include "proptests/engine/interrupted.hpp"
#include "proptests/generators/row_matrices/row_matrix_classes.hpp"
#include "proptests/tests/judge/row_samples.hpp"

namespace softcheck::proptests {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

JudgeOptions options_until(Clock::duration budget, Effort effort = Effort::deep) {
  JudgeOptions options = judge_options(effort);
  options.deadline = Clock::now() + budget;
  return options;
}

bool mentions(const std::vector<std::string>& lines, const std::string& text) {
  return std::ranges::any_of(lines, [&](const std::string& line) { return line.find(text) != line.npos; });
}

// Labelled full: JudgeBudget.*
TEST(JudgeBudget, ACorrectKernelIsUndecidedWhenTheTimeIsUp) {
  const auto start = Clock::now();
  const KernelJudgement judgement = judge_kernel(zoo_subject("correct_two_pass"), options_until(6s));
  EXPECT_LT(Clock::now() - start, 60s);
  EXPECT_EQ(judgement.verdict, ReportVerdict::undecided);
  EXPECT_EQ(exit_code(judgement.verdict), 5);
  EXPECT_EQ(judgement.ended_early, "the time budget was spent");
  EXPECT_GT(judgement.rows, 0u);
  EXPECT_TRUE(mentions(judgement.not_tried, "Kernel.EveryValueLiesWithinItsThreshold, cases after the first"));
  EXPECT_THAT(summary_of(judgement), HasSubstr("the time budget was spent"));
  // Each property has its part of the time: none takes all of it.
  EXPECT_GT(judgement.properties.size(), 8u);
}

// The four arrays of a deep run alone take longer than this test allows.
TEST(JudgeBudget, TheListOfCoveringCallsIsNotMadeBeyondTheBudget) {
  std::clock_t before = std::clock();
  const KernelJudgement judgement = judge_kernel(zoo_subject("correct_two_pass"), options_until(300ms));
  const std::clock_t spent = std::clock() - before;
  EXPECT_EQ(judgement.ended_early, "the time budget was spent");
  EXPECT_TRUE(mentions(judgement.not_tried, "Kernel.EveryPairOfClassesIsComputed"));

  JudgeOptions all = judge_options(Effort::deep);
  RowMatrixOptions covered;
  covered.rows.formats = {Format::f32};
  covered.rows.max_length = all.max_length;
  covered.most_rows = std::uint64_t{1} << 17;
  covered.max_elements = all.cover_elements;
  before = std::clock();
  const std::size_t made = covering_matrices(covered, true, all.run.seed).matrices.size();
  EXPECT_LT(spent, std::max(1, all.covers) * (std::clock() - before));
  EXPECT_THROW(covering_matrices(covered, true, all.run.seed, [] { return true; }), Interrupted);
  std::size_t asked = 0;
  const auto after_these = [&] { return ++asked > made + 1; };  // more often than once for each matrix
  EXPECT_THROW(covering_matrices(covered, true, all.run.seed, after_these), Interrupted);
}

TEST(JudgeBudget, WhatFailedByThenIsAFailure) {
  EXPECT_EQ(judge_kernel(zoo_subject("mutant_returns_zeros"), options_until(6s)).verdict, ReportVerdict::fail);
}

TEST(JudgeBudget, ABudgetThatIsEnoughChangesNothing) {
  const KernelJudgement judgement = judge_kernel(zoo_subject("correct_two_pass"), options_until(600s, Effort::quick));
  EXPECT_EQ(judgement.verdict, ReportVerdict::pass);
  EXPECT_EQ(judgement.ended_early, "");
}

// Properties whose cases do nothing but take time; the first takes most of it.
std::vector<KernelProperty> slow_properties() {
  std::vector<KernelProperty> properties;
  for (int p = 0; p < 10; ++p) {
    PropertyOf<RowCase> property{kernel_suite,
                                 "Takes" + std::to_string(p) + "OfTheTime",
                                 {"kernel.returns"},
                                 row_cases(rows_of_f32()),
                                 [p](const RowCase&) {
                                   std::this_thread::sleep_for(p == 0 ? 50ms : 1ms);
                                   return Certificates{observed("kernel.returns", CallDescription{}, 0)};
                                 }};
    properties.push_back({std::move(property), 40});
  }
  return properties;
}

// The first property got a tenth of the budget, and most of the rest stayed unused.
TEST(JudgeBudget, WhatOnePropertyLeavesAnotherTakes) {
  const KernelSubject subject = zoo_subject("correct_two_pass");
  const WatchedKernel watched(subject.source, {}, {});
  const JudgeOptions options = interruptible(options_until(8s));
  const std::vector<KernelProperty> properties = slow_properties();
  PropertySchedule schedule(properties, options, watched);
  schedule.run();
  EXPECT_EQ(schedule.early_end().reason, "");
  EXPECT_TRUE(schedule.not_tried().empty());
  ASSERT_EQ(schedule.outcomes().size(), 10u);
  for (const Outcome& outcome : schedule.outcomes()) EXPECT_EQ(outcome.cases, 40);
}

TEST(JudgeBudget, ATimeThatIsEnoughLeavesOutCasesAndNamesThem) {
  JudgeOptions options = judge_options(Effort::deep);
  options.enough = 4s;
  const KernelJudgement judgement = judge_kernel(zoo_subject("correct_two_pass"), options);
  EXPECT_EQ(judgement.ended_early, "");
  EXPECT_NE(judgement.verdict, ReportVerdict::undecided);
  EXPECT_TRUE(mentions(judgement.not_tried, "without a budget a judgement takes at most 4 s"));
}

TEST(JudgeBudget, FewCallsReachEveryPropertyAndTheRestIsNamed) {
  JudgeOptions options = quick_options();
  options.max_calls = 100;
  const KernelJudgement judgement = judge_kernel(zoo_subject("correct_two_pass"), options);
  EXPECT_EQ(judgement.verdict, ReportVerdict::pass) << summary_of(judgement);
  EXPECT_LE(judgement.calls, 100u);
  EXPECT_GE(judgement.calls, 60u);
  for (const PropertyFinding& property : judgement.properties) EXPECT_GE(property.outcome.cases, 1) << property.name;
  EXPECT_TRUE(mentions(judgement.not_tried, "Kernel.EveryWidthIsComputed, all but"));
  EXPECT_TRUE(mentions(judgement.not_tried, "max_calls=100"));
  // The widest width is among those that are left.
  std::size_t met = 0;
  for (const Coverage::Entry& entry : judgement.coverage.entries()) met += entry.calls > 0 ? 1 : 0;
  EXPECT_GE(met, 40u);
  KernelSubject wrong = zoo_subject("mutant_returns_zeros");
  EXPECT_EQ(judge_kernel(wrong, options).verdict, ReportVerdict::fail);
}

TEST(JudgeBudget, TheUserEndsACallThatHangs) {
  const auto start = Clock::now();
  JudgeOptions options = quick_options();
  options.limits.seconds_per_call = 600;
  options.interrupted = [=] { return Clock::now() > start + 500ms; };
  const KernelJudgement judgement = judge_kernel(zoo_subject("mutant_hangs"), options);
  EXPECT_LT(Clock::now() - start, 60s);
  EXPECT_EQ(judgement.verdict, ReportVerdict::undecided);
  EXPECT_EQ(judgement.ended_early, "interrupted");
  EXPECT_TRUE(mentions(judgement.not_tried, "Kernel.EarlierCallsDoNotMatter: interrupted"));
}

TEST(JudgeBudget, ProgressCountsToAllCases) {
  JudgeOptions options = quick_options();
  std::size_t last = 0, cases = 0;
  bool rises = true;
  options.progress = [&](const JudgeProgress& now) {
    rises &= now.done >= last && now.done < now.cases && (cases == 0 || cases == now.cases);
    last = now.done;
    cases = now.cases;
  };
  judge_kernel(zoo_subject("correct_two_pass"), options);
  EXPECT_TRUE(rises);
  EXPECT_EQ(last + 1, cases);
}

TEST(JudgeBudget, LoadingThatSetsFtzIsAFindingThatReplaysAndCanBeExempted) {
  KernelSubject subject = subject_by({library_path("softcheck_sets_ftz"), "mutant_sets_ftz_while_loading"});
  const std::string name = "Kernel.LoadingLeavesTheEnvironment";
  JudgeOptions options = quick_options();
  EXPECT_EQ(replay_kernel(subject, name, "load", options).verdict, ReportVerdict::fail);
  EXPECT_THROW(replay_kernel(subject, name, "unload", options), std::invalid_argument);
  const KernelJudgement judgement = judge_kernel(subject, options);
  EXPECT_EQ(judgement.verdict, ReportVerdict::fail);
  EXPECT_EQ(judgement.failed_property, name);
  subject.exempt = {"kernel.keeps_environment"};
  const KernelJudgement exempted = judge_kernel(subject, options);
  EXPECT_EQ(exempted.verdict, ReportVerdict::pass);
  EXPECT_TRUE(mentions(exempted.notes, "kernel.keeps_environment"));
}

}  // namespace
}  // namespace softcheck::proptests
