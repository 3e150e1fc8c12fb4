// A judgement that is ended early: by its budget, or by its user.
#include <chrono>
#include <ctime>
#include <thread>

#include "judge/call/tensor_call.hpp"
#include "judge/sandbox/watched_kernel.hpp"
#include "judge/trial/property_schedule.hpp"
#include "kernels/abi/softcheck_kernel.h"
#include "proptests/engine/interrupted.hpp"
#include "proptests/generators/row_matrices/row_matrix_classes.hpp"
#include "proptests/tests/judge/our_kernels.hpp"
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

// A hang takes more than its property's share of the time: the report names the hang, and no budget.
TEST(JudgeBudget, AHangEndsAJudgementAndNoBudgetIsNamed) {
  JudgeOptions options = judge_options(Effort::quick);
  options.limits.seconds_per_call = 0.5;
  options.enough = 2s;
  const KernelJudgement judgement = judge_kernel(zoo_subject("mutant_hangs"), options);
  EXPECT_EQ(judgement.verdict, ReportVerdict::timeout);
  EXPECT_EQ(judgement.ended_early, "");
  EXPECT_TRUE(mentions(judgement.notes, "not tried: "));
  EXPECT_TRUE(mentions(judgement.not_tried, ": a call did not return"));
  EXPECT_FALSE(mentions(judgement.not_tried, "budget"));
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

// What the efforts ask: default effort makes every call of quick effort, and a pass names its largest calls.

/// Numbers that child processes leave for this one.
class SharedNumbers {
 public:
  void add(std::uint64_t number) { numbers_[1 + count_->fetch_add(1) % most] = number; }
  std::set<std::uint64_t> take() {
    const std::uint64_t* first = &numbers_[1];
    std::set<std::uint64_t> result(first, first + std::min<std::size_t>(count_->load(), most));
    count_->store(0);
    return result;
  }

 private:
  static constexpr std::size_t most = std::size_t{1} << 17;
  SharedValues<std::uint64_t, 1 + most> numbers_;
  std::atomic<std::size_t>* count_ = new (&numbers_[0]) std::atomic<std::size_t>(0);
};

class CallHash : public Hash {
 public:
  using Hash::add;
  void add(const DLTensor& tensor) {
    add(&tensor.dtype, sizeof tensor.dtype);
    add(tensor.shape, static_cast<std::size_t>(tensor.ndim) * 8);
    if (tensor.strides != nullptr) add(tensor.strides, static_cast<std::size_t>(tensor.ndim) * 8);
  }
  void add_numbers(const DLTensor& tensor) {
    std::int64_t count = 1;
    for (int d = 0; d < tensor.ndim; ++d) count *= tensor.shape[d];
    const auto size = static_cast<std::size_t>(tensor.dtype.bits / 8);
    for (std::int64_t k = 0; k < count; ++k) {
      std::int64_t offset = 0, rest = k, compact = 1;
      for (int d = tensor.ndim - 1; d >= 0; --d) {
        offset += rest % tensor.shape[d] * (tensor.strides != nullptr ? tensor.strides[d] : compact);
        compact *= tensor.shape[d];
        rest /= tensor.shape[d];
      }
      add(static_cast<const char*>(tensor.data) + tensor.byte_offset + offset * static_cast<std::int64_t>(size), size);
    }
  }
};

std::uint64_t hash_of(const softcheck_call& call) {
  CallHash hash;
  for (std::uint32_t k = 0; k < call.n_inputs; ++k) {
    hash.add(*call.inputs[k]);
    hash.add_numbers(*call.inputs[k]);
  }
  for (std::uint32_t k = 0; k < call.n_outputs; ++k) hash.add(*call.outputs[k]);
  hash.add(&call.theta, sizeof call.theta);
  hash.add(&call.scale, sizeof call.scale);
  hash.add(&call.causal, sizeof call.causal);
  return hash.value();
}

struct CalledKernel {
  const char* symbol;
  Op op;
  const char* domain;
};

// In ctest's name of the test, which would have the addresses of one run.
void PrintTo(const CalledKernel& kernel, std::ostream* out) { *out << kernel.symbol; }

class EffortCalls : public ::testing::TestWithParam<CalledKernel> {
 protected:
  std::set<std::uint64_t> calls_of(Effort effort) {
    SharedNumbers numbers;
    const softcheck_kernel kernel = loaded_kernel(library_path("softcheck_zoo"), GetParam().symbol);
    const auto counted = [&numbers, kernel](const softcheck_call* call) {
      numbers.add(hash_of(*call));
      return kernel(call);
    };
    const SubjectWords words{GetParam().op, Format::f32, "exp=1ulp sum=sequential", GetParam().domain};
    const KernelJudgement judgement = judge_kernel(own_subject(counted, words), judge_options(effort));
    EXPECT_EQ(judgement.verdict, ReportVerdict::pass) << (judgement.notes.empty() ? "" : judgement.notes.front());
    return numbers.take();
  }
};

// Labelled full: Ops/EffortCalls.*
TEST_P(EffortCalls, DefaultMakesEveryCallOfQuick) {
  const std::set<std::uint64_t> quick = calls_of(Effort::quick), normal = calls_of(Effort::normal);
  EXPECT_GT(quick.size(), 300u);
  EXPECT_GT(normal.size(), quick.size());
  std::vector<std::uint64_t> missing;
  std::ranges::set_difference(quick, normal, std::back_inserter(missing));
  EXPECT_TRUE(missing.empty()) << missing.size() << " of " << quick.size() << " calls of quick effort are missing";
}

INSTANTIATE_TEST_SUITE_P(Ops, EffortCalls,
                         ::testing::Values(CalledKernel{"correct_two_pass", Op::softmax, "n<=600 rows<=9"},
                                           CalledKernel{"correct_topk_softmax", Op::topk_softmax, "n<=200 rows<=40"},
                                           CalledKernel{"attention_correct_two_pass", Op::attention,
                                                        "batch<=2 queries<=33 keys<=70 dim<=32 values<=32"}),
                         [](const auto& info) { return std::string(info.param.symbol); });

TEST(CallSizes, SayWhatIsBeyondTheLargestCall) {
  CallSizes sizes({{"rows", 65537}, {"n", 1'000'000}, {"|logit|", 0x1p126}});
  sizes.reach("rows", 65537);
  sizes.reach("n", 4097);
  sizes.reach("n", 128);
  sizes.reach("k", 9);  // which these calls lack
  EXPECT_EQ(sizes.largest_called(),
            "largest called: rows 65537, n 4097 (not tried: up to 1000000), |logit| 0 (not tried: up to 8.507e+37)");
  EXPECT_EQ(sizes.not_tried(), (std::vector<std::string>{"n beyond 4097, up to 1000000: no judged call had it",
                                                         "|logit| beyond 0, up to 8.507e+37: no judged call had it"}));
}

// Labelled full: CallSizes.StandInEveryReport
TEST(CallSizes, StandInEveryReport) {
  KernelSubject subject = cpu_subject("softcheck_softmax", {.domain = "n<=4097 rows<=3"});
  const KernelJudgement judgement = judged(subject);
  ASSERT_EQ(judgement.verdict, ReportVerdict::pass);
  EXPECT_TRUE(std::ranges::any_of(judgement.notes, [](const std::string& note) {
    return note.starts_with("largest called: rows 3, n 4097, |logit| ");
  }));
  const auto names_n = [](const std::string& line) { return line.starts_with("n beyond "); };
  EXPECT_TRUE(std::ranges::none_of(judgement.not_tried, names_n));
  subject.domain = parse_domain("rows<=3", false);
  EXPECT_TRUE(std::ranges::any_of(judged(subject).not_tried, names_n));
}

}  // namespace
}  // namespace softcheck::proptests
