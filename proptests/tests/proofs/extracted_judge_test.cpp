// The judge that Coq proved and OCaml runs, against ours: its numbers are the contract's, its thresholds ours, and it
// accuses what ours fails and nothing that ours passes.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iostream>

#include "judge/certification/certification.hpp"
#include "judge/kernel_judge.hpp"
#include "judge/trial/effort.hpp"
#include "numerics/formats/fp_environment.hpp"
#include "numerics/formats/special_values.hpp"
#include "proptests/tests/judge/zoo_rows.hpp"
#include "proptests/tests/proofs/judge_rows.hpp"

namespace softcheck::proptests {
namespace {

namespace fs = std::filesystem;
using numerics::Contract;
using numerics::Decision;

const double temperatures[] = {1, 0.7, 2};

ExtractedJudge the_judge() { return ExtractedJudge(SOFTCHECK_EXTRACTED_JUDGE_PROGRAM); }

#define SKIP_WITHOUT_A_JUDGE() \
  if (!the_judge().exists()) GTEST_SKIP() << "no extracted judge (Coq, OCaml and Zarith make one)"

struct Question {
  std::string lines;
  std::size_t values = 0;

  void begin(const Contract& contract, const std::vector<double>& row, double theta) {
    lines += judge_contract_line(judge_numbers(contract, row, theta)) + "\n" + judge_row_line(row, theta, 100) + "\n";
  }
  void ask(Op op, const std::vector<double>& row, const AllowedValue& value, double output) {
    const bool of_item = to_string(op) == "softmax";
    lines += judge_value_line(op, of_item ? std::optional(row[value.item]) : std::nullopt, output) + "\n";
    ++values;
  }
};

// What the numbers say of an argument's error is what the bounds have; the two are written apart.
TEST(JudgeNumbers, AreTheQuantitiesOfTheBounds) {
  const numerics::FpEnvironmentGuard environment;
  std::mt19937_64 engine(20241001);
  std::size_t compared = 0;
  const auto near = [&](double ours, numerics::UpperBound bound, const char* what, const std::string& where) {
    EXPECT_NEAR(ours, numerics::upper(bound), 0x1p-40 * numerics::upper(bound)) << what << " of " << where;
    ++compared;
  };
  for (const JudgedContract& one : judged_contracts()) {
    const Contract contract = one.contract();
    for (const double theta : temperatures) {
      for (const std::size_t n : std::initializer_list<std::size_t>{1, 2, 17, 300}) {
        const std::vector<double> row = judged_row(contract.input, n, 2, engine);
        const Statistics statistics =
            statistics_of(numerics::RowCascade(row, theta).statistics(), contract, row, theta);
        const numerics::RoundingModel<numerics::UpperBound> model(contract, statistics, numerics::Grants::all);
        const numerics::formulas::Quantities<numerics::UpperBound>& q = model.quantities;
        if (!std::isfinite(numerics::upper(q.argument_unit))) continue;  // nothing is promised
        const JudgeNumbers numbers = judge_numbers(contract, row, theta);
        const std::string where = one.words + " n=" + std::to_string(n) + " theta=" + std::to_string(theta);
        near(numbers.accumulator_roundoff, q.roundoff, "roundoff", where);
        near(numbers.exponential_error, q.exp_error, "exp_error", where);
        near(numbers.logarithm_error, q.log_error, "log_error", where);
        const numerics::UpperBound unit = minus_log1m(numerics::UpperBound(numbers.accumulator_roundoff));
        const numerics::UpperBound extra = minus_log1m(numerics::UpperBound(numbers.argument_extra));
        near((numerics::UpperBound(numbers.argument_roundings) * unit + extra).value(), q.argument_unit,
             "argument_unit", where);
        near(numbers.difference_loss, q.argument_step, "argument_step", where);
        near(numbers.sum_loss, q.sum_floor, "sum_floor", where);
        near(numbers.product_loss, q.product_floor, "product_floor", where);
        near(numbers.exponential_loss, q.exp_floor, "exp_floor", where);
        near(numbers.conversion_error, q.conversion, "conversion", where);
        near(numbers.scaling_error, q.scaling, "scaling", where);
        near(numbers.accumulator_roundoff + numbers.reciprocal_loss, q.reciprocal_error, "reciprocal_error", where);
        near(numbers.result_roundoff, q.output_roundoff, "output_roundoff", where);
        near(numbers.result_loss, q.output_floor, "output_floor", where);
        EXPECT_GE(numbers.last_argument, 2 * std::log(2.0) * (1 - 0x1p-50) * -std::log2(numbers.smallest_number));
        EXPECT_LT(numbers.last_argument, numerics::upper(q.exp_cutoff) * (1 + 0x1p-30));
        EXPECT_EQ(numbers.smallest_number, numerics::properties(contract.accumulator).smallest_subnormal);
      }
    }
  }
  EXPECT_GT(compared, 1000u);
}

// No height and no rescalings are handed over: the judge computes them of the word and the row's order.
TEST(JudgeNumbers, ComeWithTheWordAndTheRowInItsOrder) {
  const std::vector<double> row{4, -numerics::infinity, 1, 2};
  for (const std::string word : {"sequential", "tree", "lanes:8", "blocks:32"}) {
    const Contract contract =
        numerics::parse_contract("acc=f32 sum=" + word, numerics::Format::f32, numerics::Format::f32);
    const std::string line = judge_contract_line(judge_numbers(contract, row, 1));
    EXPECT_TRUE(line.ends_with(" sum " + word)) << line;
    EXPECT_EQ(line.find("most_"), std::string::npos) << line;
  }
  EXPECT_EQ(judge_row_line(row, 1, 100), "row 100 0x1p+0 0x1p+2 masked 0x1p+0 0x1p+1");
}

// Its functions call themselves once an item: a stack of 8 MiB ended at 262,144 of them.
TEST(ExtractedJudge, JudgesARowOf262144Items) {
  SKIP_WITHOUT_A_JUDGE();
  const Contract contract = numerics::parse_contract("", numerics::Format::f32, numerics::Format::f32);
  const std::vector<double> row(std::size_t{1} << 18, 1.0);
  Question question;
  question.begin(contract, row, 1);
  const double right = 1 + 18 * std::log(2.0);
  question.lines += judge_value_line(parse_op("logsumexp"), std::nullopt, right) + "\n";
  question.lines += judge_value_line(parse_op("logsumexp"), std::nullopt, right + 1) + "\n";
  EXPECT_EQ(ExtractedJudge(SOFTCHECK_EXTRACTED_JUDGE_PROGRAM, 120).ask(question.lines), (std::vector{false, true}));
}

// A wrong constant on either side, or a word read as another, moves a threshold.
TEST(ExtractedJudge, ItsThresholdsAreOurs) {
  SKIP_WITHOUT_A_JUDGE();
  std::mt19937_64 engine(20241002);
  Question question;
  std::vector<std::pair<bool, std::string>> expected;
  for (const JudgedContract& one : judged_contracts()) {
    const Contract contract = one.contract();
    for (const double theta : temperatures) {
      const std::vector<double> row = judged_row(contract.input, 67, 1.5, engine);
      question.begin(contract, row, theta);
      for (const Op op : certified_ops()) {
        for (const AllowedValue& value : allowed_values(op, contract, row, theta)) {
          if (!std::isfinite(value.allowed) || value.item > 3) continue;
          const double share = unjudged_share(value);
          if (share > 0.25) continue;  // fewer than a hundred doubles lie within
          for (const double sign : {-1.0, 1.0}) {
            for (const bool beyond : {false, true}) {
              const double error = value.allowed * (beyond ? 1 + share : 1 - share);
              question.ask(op, row, value, value.exact + sign * error);
              expected.emplace_back(beyond, one.words + " " + std::string(to_string(op)) + " theta=" +
                                                std::to_string(theta) + " item " + std::to_string(value.item));
            }
          }
        }
      }
    }
  }
  const std::vector<bool> answers = the_judge().ask(question.lines);
  ASSERT_EQ(answers.size(), expected.size());
  for (std::size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i], expected[i].first) << expected[i].second;
  EXPECT_GT(answers.size(), 500u);
  std::cout << answers.size() << " values beside their thresholds\n";
}

bool passes(const RowVerdicts& verdicts, std::string_view claim) {
  for (const ValueFinding& finding : verdicts.findings) {
    if (finding.claim == claim && finding.decision != Decision::proved) return false;
  }
  return true;
}

TEST(ExtractedJudge, SaysNothingOfWhatPasses) {
  SKIP_WITHOUT_A_JUDGE();
  std::mt19937_64 engine(20241003);
  std::uniform_real_distribution<double> part(-0.99, 0.99);
  const std::size_t wanted = effort_from_environment() == Effort::deep ? 100'000 : 5'000;
  std::size_t passing = 0;
  for (std::size_t round = 0; passing < wanted; ++round) {
    Question question;
    for (const JudgedContract& one : judged_contracts()) {
      const Contract contract = one.contract();
      const double theta = temperatures[round % 3];
      const std::vector<double> row =
          judged_row(contract.input, 256 + round % 2, 0.5 + static_cast<double>(round % 5), engine);
      question.begin(contract, row, theta);
      for (const Op op : certified_ops()) {
        const std::vector<AllowedValue> values = allowed_values(op, contract, row, theta);
        const std::size_t draws = values.size() == 1 ? 100 : 1;
        for (std::size_t draw = 0; draw < draws; ++draw) {
          std::vector<double> got(values.size() == 1 ? 1 : row.size());
          for (const AllowedValue& value : values) {
            const double error = std::isfinite(value.allowed) ? part(engine) * value.allowed : 0;
            const double returned = numerics::round_to(contract.output, value.exact + error);
            const bool held = std::fabs(returned - value.exact) <= 0.995 * value.allowed;
            got[value.item] = held ? returned : numerics::round_to(contract.output, value.exact);
          }
          if (!passes(judge_values(op, contract, row, theta, got), op->claims[0])) continue;
          for (const AllowedValue& value : values) question.ask(op, row, value, got[value.item]);
        }
      }
    }
    const std::vector<bool> answers = the_judge().ask(question.lines);
    ASSERT_EQ(answers.size(), question.values);
    EXPECT_EQ(std::ranges::count(answers, true), 0) << "accused, of what passes in round " << round;
    passing += answers.size();
  }
  std::cout << passing << " passing values\n";
}

bool is_certified(const ZooRow& row) {
  return row.is_planted() && row.property != "-" && !row.needs_effort() &&
         std::ranges::any_of(certified_ops(), [&](Op op) { return to_string(op) == row.op; });
}

TEST(ExtractedJudge, AccusesTheMutantsThatWeFail) {
  SKIP_WITHOUT_A_JUDGE();
  CertificationSummary all;
  std::size_t mutants = 0, failing = 0, certified = 0;
  std::map<std::string, std::size_t> reasons, proved;  // by op and by format
  for (const ZooRow& row : read_zoo()) {
    if (!is_certified(row) || !fs::exists(row.path())) continue;
    JudgeOptions options = judge_options(Effort::quick);
    options.only = split(row.property, '|');
    options.run.shrinks = 100;
    options.limits.seconds_per_call = 2;
    KernelJudgement judgement = judge_kernel(subject_of(row), options);
    const CertificationSummary summary = certify_failures(subject_of(row), the_judge(), judgement);
    EXPECT_EQ(summary.disagreements, 0u) << row.name() << ": " << summary.text();
    for (const PropertyFinding& property : judgement.properties) {
      if (!property.outcome.counterexample) continue;
      for (const numerics::Certificate& failed : property.outcome.counterexample->failed) {
        const KernelEvidence* evidence = evidence_of(failed);
        if (evidence == nullptr || !evidence->certification) continue;
        ++reasons[evidence->certification->text];
        if (evidence->certification->outcome == Certification::Outcome::disagrees) ADD_FAILURE() << failed.witness;
      }
    }
    ++mutants;
    failing += judgement.verdict == ReportVerdict::fail;
    certified += summary.proved > 0;
    proved[row.op] += summary.proved;
    proved[row.dtype] += summary.proved;
    all.proved += summary.proved;
    all.not_covered += summary.not_covered;
  }
  for (const auto& [reason, count] : reasons) std::cout << count << "  " << reason << '\n';
  std::cout << mutants << " mutants, " << failing << " fail, " << certified << " of them proved wrong; " << all.text()
            << '\n';
  if (mutants == 0) GTEST_SKIP() << "no mutants were built here";
  for (const char* of : {"softmax", "logsumexp", "entropy", "f64", "f32", "f16", "bf16"}) {
    EXPECT_GT(proved[of], 0u) << "nothing of " << of << " is proved wrong";
  }
}

// A program that stands for the judge.
class FakeJudge {
 public:
  explicit FakeJudge(const std::string& commands)
      : path_(fs::path(::testing::TempDir()) /
              ("fake_judge" + std::to_string(getpid()) + "." + std::to_string(made_++))) {
    std::ofstream(path_) << "#!/bin/sh\n" << commands << '\n';
    fs::permissions(path_, fs::perms::owner_all);
  }
  ~FakeJudge() { fs::remove(path_); }
  FakeJudge(const FakeJudge&) = delete;
  FakeJudge& operator=(const FakeJudge&) = delete;
  const fs::path& path() const { return path_; }

 private:
  static inline int made_ = 0;
  fs::path path_;
};

// What cannot be asked is said, and is no verdict.
TEST(ExtractedJudge, IsUnavailableWhereItDoesNotAnswer) {
  EXPECT_FALSE(ExtractedJudge("/nonexistent/judge").exists());
  EXPECT_THROW(ExtractedJudge("/nonexistent/judge").ask("row"), JudgeUnavailable);
  EXPECT_THROW(ExtractedJudge("/bin/false").ask("row"), JudgeUnavailable);
  EXPECT_THROW(ExtractedJudge("/bin/cat").ask("perhaps\n"), JudgeUnavailable);
  EXPECT_EQ(ExtractedJudge("/bin/cat").ask("violated not_violated\n"), (std::vector<bool>{true, false}));
  const FakeJudge slow("exec sleep 60");
  EXPECT_THROW(ExtractedJudge(slow.path(), 0.2).ask("row"), JudgeUnavailable);
}

KernelSubject softmax_of_f32(const std::string& words = "acc=f32 exp=1ulp sum=sequential") {
  KernelSubject subject;
  subject.contract = numerics::parse_contract(words, numerics::Format::f32, numerics::Format::f32);
  return subject;
}

// A failure of the first item of a row of two.
numerics::Certificate failure(double got, std::vector<double> logits = {0, -1}, std::string_view reason = {},
                              std::string_view claim = "kernel.softmax.element") {
  CallDescription asked{"a row"};
  asked.numbers = JudgedNumbers{std::move(logits), 1};
  const ValueFinding finding{claim, 0, numerics::Enclosure(0.731), got, 1e-6, Decision::violated, {}, false, reason};
  return certificate_of(finding, std::move(asked), numerics::Format::f32);
}

Certification::Outcome outcome_of(const FakeJudge& judge, const numerics::Certificate& failed,
                                  const KernelSubject& subject = softmax_of_f32()) {
  return certified(subject, ExtractedJudge(judge.path(), 5), failed).outcome;
}

TEST(Certification, SaysWhatTheJudgeSays) {
  const FakeJudge accuses("echo violated"), silent("echo not_violated"), broken("exit 3"),
      twice("echo violated violated");
  // Silent at the first precision, it may accuse at the second.
  const FakeJudge narrow("if grep -q '^row 300'; then echo violated; else echo not_violated; fi");
  using enum Certification::Outcome;
  EXPECT_EQ(outcome_of(accuses, failure(0.5)), proved);
  EXPECT_EQ(outcome_of(narrow, failure(0.5)), proved);
  EXPECT_EQ(outcome_of(silent, failure(0.5)), disagrees);
  EXPECT_EQ(outcome_of(broken, failure(0.5)), not_covered);
  EXPECT_EQ(outcome_of(twice, failure(0.5)), not_covered);
  // A rule beside the thresholds: the theorem holds where the judge accuses, and silence is no disagreement.
  EXPECT_EQ(outcome_of(accuses, failure(-0.0, {0, -1}, "no coefficient is negative or -0")), proved);
  EXPECT_EQ(outcome_of(silent, failure(-0.0, {0, -1}, "no coefficient is negative or -0")), not_covered);
}

TEST(Certification, CoversWhatHasATheorem) {
  const FakeJudge accuses("echo violated");
  using enum Certification::Outcome;
  EXPECT_EQ(outcome_of(accuses, failure(numerics::nan)), not_covered);
  EXPECT_EQ(outcome_of(accuses, failure(numerics::infinity)), not_covered);
  EXPECT_EQ(outcome_of(accuses, failure(0.5, {-numerics::infinity, -1})), not_covered);
  EXPECT_EQ(outcome_of(accuses, failure(0.5, {0, -1}, {}, "kernel.softmax.row_sum")), not_covered);
  for (const char* words : {"acc=f32 weights=bf16", "acc=f32 total=bf16"}) {
    EXPECT_EQ(outcome_of(accuses, failure(0.5), softmax_of_f32(words)), not_covered) << words;
  }
  KernelSubject logarithms = softmax_of_f32();
  logarithms.op = parse_op("log_softmax");
  EXPECT_EQ(outcome_of(accuses, failure(0.5), logarithms), not_covered);
  EXPECT_EQ(outside_the_theorems(parse_op("entropy"), softmax_of_f32("entropy_from=logits").contract, 1).empty(),
            false);
  EXPECT_EQ(outside_the_theorems(Op::softmax, softmax_of_f32("theta=before").contract, 2).empty(), false);
  EXPECT_EQ(outside_the_theorems(Op::softmax, softmax_of_f32("theta=before").contract, 1), "");
}

// Half of f16's smallest number; its smallest normal one of a result of 0, which may have been flushed.
TEST(Certification, OnlyAResultOfZeroMayHaveBeenFlushed) {
  const FakeJudge of_kept("if grep -q 'result_loss 0x1p-25 '; then echo violated; else echo not_violated; fi");
  const FakeJudge of_flushed("if grep -q 'result_loss 0x1p-14 '; then echo violated; else echo not_violated; fi");
  KernelSubject subject;
  subject.contract =
      numerics::parse_contract("acc=f32 subnormal=flushed", numerics::Format::f16, numerics::Format::f16);
  using enum Certification::Outcome;
  EXPECT_EQ(outcome_of(of_kept, failure(0.5), subject), proved);
  EXPECT_EQ(outcome_of(of_flushed, failure(0.5), subject), disagrees);
  EXPECT_EQ(outcome_of(of_kept, failure(0), subject), disagrees);
  EXPECT_EQ(outcome_of(of_flushed, failure(0), subject), proved);
}

// A word of f16 whose exponentials err so much that nothing is promised.
TEST(Certification, IsSilentWhereNothingIsPromised) {
  const FakeJudge accuses("echo violated");
  KernelSubject subject;
  subject.contract = numerics::parse_contract("acc=bf16 exp=E:2,A:64", numerics::Format::bf16, numerics::Format::bf16);
  EXPECT_EQ(outcome_of(accuses, failure(0.5), subject), Certification::Outcome::not_covered);
}

}  // namespace
}  // namespace softcheck::proptests
