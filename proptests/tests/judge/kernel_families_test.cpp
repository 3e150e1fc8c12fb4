// Every property of a kernel is needed: for each there is a planted bug that no other one finds.
#include <filesystem>

#include "judge/trial/attention_trial.hpp"
#include "judge/trial/kernel_properties.hpp"
#include "judge/trial/kernel_trial.hpp"
#include "proptests/tests/judge/kernel_samples.hpp"
#include "proptests/tests/judge/zoo_rows.hpp"

namespace softcheck::proptests {
namespace {

JudgeOptions with(Effort effort) {
  JudgeOptions options = judge_options(effort);
  options.limits.seconds_per_call = 60;  // nothing hangs, and loaded machines are slow
  return options;
}

std::vector<std::string> broken_properties(const KernelJudgement& judgement) {
  std::vector<std::string> broken;
  for (const PropertyFinding& property : judgement.properties) {
    if (property.verdict != ReportVerdict::pass && !property.found_by_another)
      broken.push_back(property.name.substr(property.name.find('.') + 1));
  }
  return broken;
}

constexpr const char* covering_families = "EveryPairOfClassesIsComputed";

struct OnlyOne {
  const char* symbol;
  const char* property;
  Op op = Op::softmax;
  const char* required = "";
};

void PrintTo(const OnlyOne& bug, std::ostream* stream) { *stream << bug.symbol; }

class KernelFamilies : public ::testing::TestWithParam<OnlyOne> {};

// Labelled full: Judge/KernelFamilies.*
TEST_P(KernelFamilies, OnlyOnePropertyFindsThisBug) {
  KernelSubject subject = zoo_subject(GetParam().symbol, {.op = GetParam().op});
  subject.required = parse_requirements(GetParam().required);
  const KernelJudgement judgement = judge_kernel(subject, with(Effort::quick));
  std::vector<std::string> broken = broken_properties(judgement);
  // Calls of all classes meet many family_bugs; what tells them is the property that is for one.
  if (std::string(GetParam().property) != covering_families) std::erase(broken, covering_families);
  EXPECT_EQ(broken, std::vector<std::string>{GetParam().property});
}

const OnlyOne family_bugs[] = {
    {"mutant_nondeterministic", "EveryValueLiesWithinItsThreshold", Op::softmax, "deterministic"},
    {"mutant_not_batch_invariant", "LayoutsAndNeighboursDoNotMatter", Op::softmax, "batch-invariant"},
    {"mutant_results_kept_for_same_logits", "EarlierCallsDoNotMatter"},
    {"mutant_mask_of_first_512_columns", "AMaskedItemIsADeletedOne"},
    {"mutant_masked_row_zero", "AFullyMaskedRowIsAsDeclared"},
    {"mutant_nan_row_unwritten", "ANanLogitMakesItsRowNan"},
    {"mutant_infinite_row_zero", "AnInfiniteLogitGivesNanOrTheLimit"},
    {"mutant_one_width_drops_its_last", "EveryWidthIsComputed"},
    {"mutant_lse_of_empty_row_nan", "AnEmptyCallHasItsValues", Op::logsumexp},
    {"mutant_divides_by_empty_width", "AnEmptyCallHasItsValues"},
    {"mutant_offset_in_32_bits", "StridesBeyondAnIntegerAreFollowed"},
    {"mutant_row_index_in_8_bits_from_8_columns", "ManyRowsAreEachAsRight"},
    {"mutant_topk_softmax_of_2048_rows", "KnownShapesAreComputed", Op::topk_softmax},
    {"mutant_in_place_read_after_write", "TheOutputMayBeTheInput", Op::softmax, "in-place"},
};

INSTANTIATE_TEST_SUITE_P(Judge, KernelFamilies, ::testing::ValuesIn(family_bugs),
                         [](const auto& param_info) { return std::string(param_info.param.symbol); });

// Labelled full: KernelFamiliesTest.TheSmallestWrongWidthIsReported
TEST(KernelFamiliesTest, TheSmallestWrongWidthIsReported) {
  const KernelJudgement judgement = judge_kernel(zoo_subject("mutant_one_width_drops_its_last"), with(Effort::normal));
  ASSERT_TRUE(judgement.counterexample);
  EXPECT_EQ(judgement.counterexample->size, 513u);
  EXPECT_THAT(broken_properties(judgement), ::testing::Contains("EveryWidthIsComputed"));
}

TEST(KernelFamiliesTest, APassTellsItsErrorsAndWhatWasNotTried) {
  const KernelJudgement judgement = judge_kernel(zoo_subject("correct_two_pass"), with(Effort::quick));
  EXPECT_EQ(judgement.verdict, ReportVerdict::pass);
  EXPECT_GT(judgement.rows, 2048u);
  ASSERT_TRUE(judgement.errors.contains("kernel.softmax.element"));
  const ErrorStatistics& errors = judgement.errors.at("kernel.softmax.element");
  EXPECT_GT(errors.values, 10000u);
  EXPECT_GT(errors.worst_ulps, 0.4);
  EXPECT_LE(errors.largest_share, 1);
  EXPECT_FALSE(errors.worst_witness.empty());
  EXPECT_FALSE(judgement.not_tried.empty());
}

TEST(KernelFamiliesTest, AMatrixReplays) {
  const KernelSubject subject = zoo_subject("mutant_mask_of_first_row");
  const KernelJudgement first = judge_kernel(subject, with(Effort::quick));
  ASSERT_TRUE(first.counterexample);
  EXPECT_LE(first.counterexample->size, 8u);
  const KernelJudgement again =
      replay_kernel(subject, first.failed_property, first.counterexample->case_text, with(Effort::quick));
  ASSERT_TRUE(again.counterexample);
  EXPECT_EQ(again.counterexample->failed[0].witness, first.counterexample->failed[0].witness);
}

TEST(KernelFamiliesTest, AMatrixThatIsNoneIsAWrongCall) {
  const KernelSubject subject = zoo_subject("correct_two_pass");
  const std::string head = "matrix f32 columns=2 theta=0x1p+0 mask=none ";
  for (const std::string& text :
       {std::string("matrix"), std::string("matrix f64 columns=2 theta=0x1p+0 mask=none ; 0x0p+0*2"), head + "; 0x0p+0",
        head + "; 0x0p+0*3", head + "; -inf -inf 0x0p+0", head + "in=1,1,0,end ; 0x0p+0*2 ; 0x0p+0*2",
        head + "in=0,1,0,end ; 0x0p+0*2", head + "in=2,1,0 ; 0x0p+0*2", head + "on=2,1,0,end ; 0x0p+0*2",
        head + "in=-2,1,0,end ; 0x0p+0*2", std::string("matrix f32 columns=2 theta=0x1p+0 mask=some ; 0x0p+0*2"),
        std::string("matrix f32 columns=2 theta=0x0p+0 mask=none ; 0x0p+0*2"),
        std::string("matrix f32 columns=1000000000 theta=0x1p+0 mask=none ; 0x0p+0*1000000000")}) {
    EXPECT_THROW(replay_kernel(subject, "Kernel.LayoutsAndNeighboursDoNotMatter", text, with(Effort::quick)),
                 std::invalid_argument)
        << text;
  }
}

// A row that a failure names is shrunk on, whatever it holds: theta, the numbers beside the NaN, and the NaN's bits.
TEST(KernelFamiliesTest, ANanIsToldAmongThePlainestNumbers) {
  for (const auto& [symbol, op, told] :
       {std::tuple{"mutant_nan_swallowed", Op::softmax,
                   "matrix f32 columns=2 theta=0x1p+0 mask=none nan=0,1,0x7fc00000 ; 0x0p+0*2"},
        {"mutant_lse_skips_nan", Op::logsumexp,
         "matrix f32 columns=1 theta=0x1p+0 mask=none nan=0,0,0x7fc00000 ; 0x0p+0"},
        {"mutant_merge_states_nan_is_empty", Op::merge_states,
         "matrix f32 columns=1 theta=0x1p+0 mask=none nan=0,0,0x7fc00000 ; 0x0p+0"},
        {"mutant_cross_entropy_backward_ignored_nan", Op::cross_entropy_backward,
         "matrix f32 columns=1 theta=0x1p+0 mask=none"}}) {
    JudgeOptions options = with(Effort::quick);
    options.only = {"ANanLogitMakesItsRowNan"};
    const KernelJudgement judgement =
        judge_kernel(zoo_subject(symbol, {.op = op, .contract = "sum=sequential"}), options);
    ASSERT_TRUE(judgement.counterexample) << symbol;
    EXPECT_THAT(judgement.counterexample->case_text, StartsWith(told)) << symbol;
  }
}

struct DrawnSubject {
  Op op;
  Format format;
  const char* domain;

  friend std::ostream& operator<<(std::ostream& out, const DrawnSubject& one) {
    return out << one.op->name << " " << numerics::properties(one.format).name << " on '" << one.domain << "'";
  }
};

std::vector<DrawnSubject> drawn_subjects() {
  std::vector<DrawnSubject> all;
  for (const Op op : all_ops()) {
    all.push_back({op, op->takes_infinities ? Format::e4m3 : Format::f32, ""});
  }
  all.push_back({Op::softmax, Format::f32, "finite"});
  all.push_back({Op::softmax, Format::f16, "n=16k rows<=3 theta=1 compact"});
  all.push_back({Op::cross_entropy, Format::f32, "nosmoothing nozloss nosoftcap noweights ignore=-100"});
  all.push_back({Op::cross_entropy_mean_backward, Format::f32, "reduction=sum"});
  all.push_back({Op::merge_states, Format::f32, "base=2 n=2"});
  all.push_back({Op::topk_softmax, Format::f32, "k<=8 renormalize=1"});
  all.push_back({Op::top_p_softmax, Format::f32, "min_p=0"});
  for (const char* words : {"window softcap sinks alibi bias causal=either", "packed", "pages page=16 packed"}) {
    all.push_back({Op::attention, Format::f32, words});
  }
  for (const char* words : {"dsinks window", "dlse", "dbias softcap", "packed alibi"}) {
    all.push_back({Op::attention_backward, Format::f32, words});
  }
  return all;
}

class ReplayOf : public ::testing::TestWithParam<DrawnSubject> {};

// A kernel that answers no call: each property fails on the case that it draws or lists first, which is shrunk or not.
TEST_P(ReplayOf, AnyCaseThatAPropertyFailsOn) {
  const DrawnSubject& drawn = GetParam();
  const auto silent = [](const softcheck_call*) { return ForwardedEnd{CallEnd::crashed, 0, "silence", ""}; };
  const KernelSubject subject =
      forwarded_subject(silent, {.op = drawn.op, .format = drawn.format, .domain = drawn.domain});
  const JudgeOptions options = with(Effort::quick);
  const auto expect_replayable = [&](const std::vector<KernelProperty>& properties, auto require) {
    for (const KernelProperty& one : properties) {
      std::size_t failed = 0;
      // A list takes a while to make, and its first case fails whatever the seed.
      const std::uint64_t seeds = one.property.sentence() == covering_families ? 1 : 8;
      for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        RunOptions run;
        run.seed = seed;
        run.cases = 1;
        run.shrinks = seed % 4 == 0 ? 8 : 0;
        const Outcome outcome = one.property.run(run);
        if (!outcome.counterexample) continue;  // the trial does not make the call
        ++failed;
        EXPECT_NO_THROW(require(subject, outcome.counterexample->case_text))
            << one.property.name() << " " << outcome.counterexample->case_text;
      }
      EXPECT_GT(failed, 0U) << one.property.name();
    }
  };
  if (drawn.op->is_attention()) {
    AttentionTrial trial(subject, options.limits);
    expect_replayable(attention_properties(subject, options, trial), require_replayable_attention);
  } else {
    KernelTrial trial(subject, options.limits);
    expect_replayable(kernel_properties(subject, options, trial), require_replayable);
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, ReplayOf, ::testing::ValuesIn(drawn_subjects()));

// Softmax bugs that were reported in public, each re-enacted by a kernel of the zoo on what was reported
// (reported_bugs.tsv): a right kernel passes on the reported case, the one with the bug is rejected, by the claim that
// is named.

struct ReportedBug {
  std::string name;    // of its test: the project, the number of the issue or pull request, what was seen
  std::string mutant;  // the kernel that has the bug
  std::string op, dtype;
  std::string property;  // by which the judge rejects it
  std::string claim;     // that the reported case violates
  std::string reported;  // the case, as a replay line has it
  std::string right;     // a kernel that gets it right; "-": ours
};

std::vector<ReportedBug> reported_bugs() {
  std::ifstream file(SOFTCHECK_SOURCE_DIR "/proptests/tests/judge/reported_bugs.tsv");
  std::vector<ReportedBug> bugs;
  std::string line;
  for (std::getline(file, line); std::getline(file, line);) {  // the first line has the columns' names
    const std::vector<std::string> f = split(line, '\t');
    if (f.size() != 8) throw std::runtime_error("reported_bugs.tsv: need 8 fields in '" + line + "'");
    bugs.push_back({f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]});
  }
  if (bugs.empty()) throw std::runtime_error("reported_bugs.tsv: need a bug");
  return bugs;
}

// The row of the zoo that says what such a kernel promises, the strictest where there are several.
ZooRow zoo_row(const std::string& symbol, const std::string& op, const std::string& dtype) {
  std::vector<ZooRow> zoo = read_zoo();
  std::stable_partition(zoo.begin(), zoo.end(), [](const ZooRow& row) { return row.require != "-"; });
  for (const ZooRow& row : zoo) {
    if (row.symbol == symbol && row.op == op && row.dtype == dtype) return row;
  }
  throw std::runtime_error("the zoo has no " + symbol + " " + op + " " + dtype);
}

KernelJudgement replayed(const KernelSubject& subject, const ReportedBug& bug) {
  JudgeOptions options = quick_options();
  options.limits.seconds_per_call = 120;  // no bug hangs, and loaded machines and emulators are slow
  return replay_kernel(subject, "Kernel." + bug.property, bug.reported, options);
}

class ReportedBugTest : public ::testing::Test {
 public:
  explicit ReportedBugTest(ReportedBug bug) : bug_(std::move(bug)) {}
  void TestBody() override {
    const std::string right = bug_.right != "-" ? bug_.right : "softcheck_" + bug_.op;
    const KernelSubject wrong = subject_of(zoo_row(bug_.mutant, bug_.op, bug_.dtype));
    KernelSubject subject = subject_of(zoo_row(right, bug_.op, bug_.dtype));
    subject.required = wrong.required;
    EXPECT_EQ(replayed(subject, bug_).verdict, ReportVerdict::pass) << right;

    const KernelJudgement judgement = replayed(wrong, bug_);
    ASSERT_TRUE(judgement.counterexample) << bug_.mutant << " is not rejected";
    std::string failed;
    bool named = false;
    for (const auto& certificate : judgement.counterexample->failed) {
      named |= certificate.claim == bug_.claim;
      failed += "\n  " + certificate.claim + ": " + certificate.witness;
    }
    EXPECT_TRUE(named) << bug_.mutant << " is rejected, but not by " << bug_.claim << ":" << failed;
  }

 private:
  const ReportedBug bug_;
};

[[maybe_unused]] const bool registered = [] {
  for (const ReportedBug& bug : reported_bugs()) {
    ::testing::RegisterTest("ReportedBugs", bug.name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [bug]() -> ::testing::Test* { return new ReportedBugTest(bug); });
  }
  return true;
}();

// oneDNN 2.6, a kernel of another project: the claims that it keeps, and the two that it breaks.

const std::string library = library_path("softcheck_peer_onednn");

KernelJudgement judged_onednn(const char* symbol, Op op, bool nan_rows, const JudgeOptions& options = {}) {
  KernelSubject subject = subject_by({library, symbol}, {.op = op});
  if (!nan_rows) subject.exempt = {"kernel.nan_row"};
  return judge_kernel(subject, options);
}

class OneDnn : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(library)) GTEST_SKIP() << "oneDNN was not found when this was built";
  }
};

// Labelled full: OneDnn.SoftmaxPassesOnNumbers
TEST_F(OneDnn, SoftmaxPassesOnNumbers) {
  EXPECT_EQ(judged_onednn("softcheck_onednn_softmax", Op::softmax, false).verdict, ReportVerdict::pass);
}

// It refuses temperatures and masks: the rows that were drawn with one count as the logits that they are.
TEST_F(OneDnn, RefusedExtrasCostNoRows) {
  const JudgeOptions options = quick_options();
  const KernelJudgement judgement = judged_onednn("softcheck_onednn_softmax", Op::softmax, false, options);
  EXPECT_GT(judgement.refused, 0U);
  EXPECT_GE(judgement.rows, options.rows);
}

// Labelled full: OneDnn.SoftmaxAnswersANanWithNumbers
TEST_F(OneDnn, SoftmaxAnswersANanWithNumbers) {
  const KernelJudgement judgement = judged_onednn("softcheck_onednn_softmax", Op::softmax, true);
  EXPECT_EQ(judgement.verdict, ReportVerdict::fail);
  EXPECT_EQ(judgement.failed_property, "Kernel.ANanLogitMakesItsRowNan");
}

TEST_F(OneDnn, LogSoftmaxOfOneLogitIsNotZero) {
  const KernelJudgement judgement = judged_onednn("softcheck_onednn_log_softmax", Op::log_softmax, false);
  EXPECT_EQ(judgement.verdict, ReportVerdict::fail);
  ASSERT_TRUE(judgement.counterexample);
  EXPECT_EQ(judgement.counterexample->size, 1u) << judgement.counterexample->case_text;
}

// The CUDA example is compiled wherever nvcc is and judged wherever it can run; the C and C++ ones are rows of the zoo.

TEST(CudaExample, PassesOnADeviceAndIsRefusedWithoutOne) {
  const std::string library = library_path("softcheck_example_cuda");
  if (!std::filesystem::exists(library)) GTEST_SKIP() << "nvcc was not found when this was built";
  // CUDA documents expf to 2 ulp; 256 threads add strided sums, which are merged in halves.
  KernelSubject subject = subject_by({library, "example_softmax_cuda"}, {.contract = "exp=2ulp sum=lanes:256"});
  const bool device = std::filesystem::exists("/dev/nvidia0");
  if (device) subject.source.device = Device::cuda;  // which has the sockets and the addresses that its driver needs
  EXPECT_STREQ(to_string(judged(subject).verdict), device ? "pass" : "refused");
}

}  // namespace
}  // namespace softcheck::proptests
