// An exhaustive judgement that is interrupted goes on from its file, and ends as one that was not.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "judge/exhaustive/exhaustive_judge.hpp"
#include "judge/exhaustive/exhaustive_state.hpp"
#include "proptests/tests/judge/kernel_samples.hpp"

namespace softcheck::proptests {
namespace resumed_judgements {
namespace {

using ::testing::ThrowsMessage;

class ExhaustiveResume : public ::testing::Test {
 protected:
  ExhaustiveResume() : file_(std::filesystem::temp_directory_path() / ("resume." + std::to_string(getpid()))) {}
  ~ExhaustiveResume() override { std::filesystem::remove(file_); }

  static KernelSubject subject_of(const char* symbol, const char* dtype, const char* contract) {
    return zoo_subject(symbol, {.format = numerics::parse_format(dtype), .contract = contract});
  }

  static KernelSubject f16_softmax() {
    return subject_of("correct_two_pass", "f16", "acc=f32 sum=sequential masked=nan");
  }
  std::string text() const {
    std::ifstream in(file_);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // What the file says that it is of.
  std::string identity() const { return nlohmann::json::parse(text()).at("contents").at("subject"); }

  JudgeOptions options() const {
    JudgeOptions options = judge_options(Effort::exhaustive);
    options.resume = file_.string();
    options.arguments = {0x3f80, 0x3f82};
    return options;
  }

  // Ends at the first question after so many.
  ExhaustiveJudgement judge_some(const KernelSubject& subject, JudgeOptions options, int questions) const {
    options.run.interrupted = [questions]() mutable { return questions-- <= 0; };
    return judge_exhaustively(subject, options);
  }

  const std::filesystem::path file_;
};

using Claims = std::map<std::string, std::tuple<std::size_t, std::size_t, double>>;

Claims claims_of(const KernelJudgement& judgement) {
  Claims claims;
  for (const PropertyFinding& property : judgement.properties) {
    for (const auto& [claim, one] : property.outcome.claims) {
      claims[claim] = {one.decided, one.undecided, one.tightest_slack};
    }
  }
  return claims;
}

void expect_equal(const ExhaustiveJudgement& one, const ExhaustiveJudgement& other) {
  ASSERT_EQ(one.statements.size(), other.statements.size());
  for (std::size_t k = 0; k < one.statements.size(); ++k) {
    EXPECT_EQ(one.statements[k].text(), other.statements[k].text());
    EXPECT_EQ(one.statements[k].share, other.statements[k].share);
    EXPECT_EQ(one.statements[k].share_at_most, other.statements[k].share_at_most);
  }
  const auto counts = [](const KernelJudgement& of) {
    return std::tuple(of.verdict, of.rows, of.calls, of.refused, of.notes, of.not_tried, of.vacuity.judged,
                      of.vacuity.vacuous, of.vacuity.rows);
  };
  EXPECT_EQ(counts(one.judgement), counts(other.judgement));
  EXPECT_EQ(claims_of(one.judgement), claims_of(other.judgement));
  ASSERT_EQ(one.judgement.errors.size(), other.judgement.errors.size());
  for (const auto& [claim, errors] : one.judgement.errors) {
    const ErrorStatistics& same = other.judgement.errors.at(claim);
    const auto numbers = [](const ErrorStatistics& of) {
      return std::tuple(of.values, of.largest_share, of.worst_ulps, of.bias_ulps, of.worst_witness);
    };
    EXPECT_EQ(numbers(errors), numbers(same)) << claim;
  }
  ASSERT_EQ(one.errors.size(), other.errors.size());
  for (std::size_t k = 0; k < one.errors.size(); ++k) {
    EXPECT_EQ(one.errors[k].argument, other.errors[k].argument);
    EXPECT_EQ(one.errors[k].ulps, other.errors[k].ulps);
    EXPECT_EQ(one.errors[k].share, other.errors[k].share);
  }
}

TEST_F(ExhaustiveResume, EndsAsAJudgementThatWasNotInterrupted) {
  // Its exponentials err by more than the lowest word, which a part alone does not tell.
  const KernelSubject subject =
      subject_of("mutant_exp_coefficient_perturbed", "f32", "acc=f32 exp=64ulp sum=sequential masked=nan");
  JudgeOptions asked = options();
  // From 1 to 1.125: pairs, long rows at two temperatures, some hundred calls.
  asked.arguments = {0x3f800000, 0x3f900000};
  JudgeOptions at_once = asked;
  at_once.resume.clear();
  const ExhaustiveJudgement whole = judge_exhaustively(subject, at_once);
  EXPECT_EQ(whole.judgement.verdict, ReportVerdict::pass);
  ASSERT_FALSE(whole.statements[0].exponential_at.empty()) << whole.statements[0].text();
  ExhaustiveJudgement resumed;
  int parts = 0;
  do {
    resumed = judge_some(subject, asked, 7);
    ++parts;
    ASSERT_LT(parts, 1000);
  } while (!resumed.judgement.ended_early.empty());
  EXPECT_GT(parts, 5);
  expect_equal(whole, resumed);
  // All is done: asked again, it only tells.
  expect_equal(whole, judge_some(subject, asked, 0));
}

// A statement of which a part is judged is undecided, and so is the verdict; also where nothing else says so, as of one
// whose file says that it was left undecided.
TEST_F(ExhaustiveResume, AStatementThatIsNotWholeIsNoPass) {
  const KernelSubject subject = f16_softmax();
  const ExhaustiveJudgement part = judge_some(subject, options(), 1);
  EXPECT_EQ(part.judgement.verdict, ReportVerdict::undecided);
  ASSERT_FALSE(part.statements.empty());
  EXPECT_EQ(part.statements.back().verdict, ReportVerdict::undecided);

  const ExhaustiveJudgement whole = judge_exhaustively(subject, options());
  EXPECT_EQ(whole.judgement.verdict, ReportVerdict::pass);
  ExhaustiveState state = read_state(file_, identity()).value();
  state.statements.front().verdict = ReportVerdict::undecided;
  write_state(state, file_);
  const ExhaustiveJudgement open = judge_exhaustively(subject, options());
  EXPECT_TRUE(open.judgement.ended_early.empty());
  EXPECT_EQ(open.judgement.verdict, ReportVerdict::undecided);
}

TEST_F(ExhaustiveResume, FindsAgainWhatFailed) {
  const KernelSubject subject = subject_of("mutant_shifts_by_first_logit", "f32", "acc=f32 sum=sequential masked=nan");
  JudgeOptions asked = options();
  asked.arguments = {0x42a00000, 0x42b00000};  // from 80 to 88: exp(88 / 0.7) overflows
  std::ignore = judge_some(subject, asked, 1);
  const ExhaustiveJudgement first = judge_exhaustively(subject, asked);
  const ExhaustiveJudgement second = judge_exhaustively(subject, asked);
  ASSERT_EQ(first.judgement.verdict, ReportVerdict::fail);
  ASSERT_EQ(second.judgement.verdict, ReportVerdict::fail);
  EXPECT_EQ(first.judgement.counterexample->case_text, second.judgement.counterexample->case_text);
}

TEST_F(ExhaustiveResume, RefusesAFileOfAnotherJudgement) {
  const KernelSubject subject = f16_softmax();
  std::ignore = judge_some(subject, options(), 1);
  const auto judge = [this](const KernelSubject& other) {
    return [this, other] { std::ignore = judge_exhaustively(other, options()); };
  };
  for (const KernelSubject& other :
       {subject_of("correct_online", "f16", "acc=f32 sum=sequential masked=nan"),
        subject_of("correct_two_pass", "bf16", "acc=f32 sum=sequential masked=nan"),
        subject_of("correct_two_pass", "f16", "exp=2ulp acc=f32 sum=sequential masked=nan")}) {
    EXPECT_THAT(judge(other), ThrowsMessage<ResumeError>(HasSubstr("need a file of this judgement")));
  }
  KernelSubject inside = subject;
  inside.domain = domain_of("theta=1", subject.op);
  EXPECT_THAT(judge(inside), ThrowsMessage<ResumeError>(HasSubstr("need a file of this judgement")));
}

TEST_F(ExhaustiveResume, RefusesADamagedFileAndKeepsIt) {
  const KernelSubject subject = f16_softmax();
  std::ignore = judge_some(subject, options(), 1);
  const std::string whole = text();
  for (const std::string& damaged : {whole.substr(0, whole.size() / 2), std::string("{}"), std::string()}) {
    std::ofstream(file_, std::ios::trunc) << damaged;
    EXPECT_THAT([&] { std::ignore = judge_exhaustively(subject, options()); },
                ThrowsMessage<ResumeError>(HasSubstr("none or damaged")));
    EXPECT_EQ(text(), damaged);
  }
}

// A digit that is another one would leave rows out, and the verdict would be a pass.
TEST_F(ExhaustiveResume, RefusesAFileOfWhichOneDigitIsAnother) {
  const KernelSubject subject = f16_softmax();
  std::ignore = judge_some(subject, options(), 1);
  const std::string whole = text(), of = identity();
  ASSERT_TRUE(read_state(file_, of));
  for (std::size_t at = whole.find_first_of("0123456789"); at != std::string::npos;
       at = whole.find_first_of("0123456789", at + 1)) {
    std::string changed = whole;
    changed[at] = changed[at] == '9' ? '8' : '9';
    std::ofstream(file_, std::ios::trunc) << changed;
    EXPECT_THROW(read_state(file_, of), ResumeError) << at << " " << changed;
  }
}

TEST_F(ExhaustiveResume, RefusesCountsThatLeaveRowsOut) {
  const KernelSubject subject = f16_softmax();
  JudgeOptions asked = options();
  asked.arguments = {0x3f80, 0x3f88};  // eight calls
  std::ignore = judge_some(subject, asked, 2);
  const ExhaustiveState known = read_state(file_, identity()).value();
  ASSERT_EQ(known.statements.size(), known.enumeration + 1);
  ASSERT_EQ(known.block, 2U);
  const auto refuses = [&](void (*change)(ExhaustiveState&)) {
    ExhaustiveState changed = known;
    change(changed);
    write_state(changed, file_);
    EXPECT_THAT([&] { std::ignore = judge_some(subject, asked, 0); },
                ThrowsMessage<ResumeError>(HasSubstr("need an undamaged file")));
  };
  refuses([](ExhaustiveState& state) { ++state.block; });
  refuses([](ExhaustiveState& state) { --state.block; });
  refuses([](ExhaustiveState& state) { state.block = ~std::uint64_t{0}; });
  refuses([](ExhaustiveState& state) { ++state.statements.back().judged; });
  refuses([](ExhaustiveState& state) { state.statements.back().rows = state.statements.back().judged; });
  refuses([](ExhaustiveState& state) { state.statements.back().name += "s"; });
  refuses([](ExhaustiveState& state) {
    ++state.enumeration;
    state.block = 0;
  });
  write_state(known, file_);
  EXPECT_NO_THROW(std::ignore = judge_some(subject, asked, 0));
}

TEST_F(ExhaustiveResume, WaitsForNoPipe) {
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  EXPECT_THROW(read_state(file_, ""), ResumeError);
}

TEST_F(ExhaustiveResume, NeedsAKernelOfALibrary) {
  KernelSubject subject = subject_of("", "f32", "acc=f32 sum=sequential masked=nan");
  subject.source.callable = [](const softcheck_call*) { return 0; };
  EXPECT_THAT([&] { std::ignore = judge_exhaustively(subject, options()); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("need a library's kernel")));
}

}  // namespace
}  // namespace resumed_judgements
}  // namespace softcheck::proptests
