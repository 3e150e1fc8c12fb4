#include "judge/conformance.hpp"

#include <gtest/gtest-spi.h>
#include <unistd.h>

#include <cstdlib>

#include "judge/trial/kernel_claims.hpp"
#include "judge/trial/kernel_properties.hpp"
#include "judge/trial/plainest_case.hpp"
#include "proptests/tests/judge/kernel_samples.hpp"
#include "proptests/tests/judge/row_samples.hpp"

namespace softcheck {
namespace {

using proptests::Effort;
using proptests::HasSubstr;
using proptests::maximum_of;
using proptests::Not;
using proptests::ReportVerdict;

const std::string mutants = proptests::library_path("softcheck_zoo");

template <class T>
void softmax(std::span<const T> logits, double theta, std::span<T> results) {
  const T maximum = maximum_of(logits), scale = static_cast<T>(1 / theta);
  T sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) sum += results[i] = std::exp((logits[i] - maximum) * scale);
  for (T& result : results) result /= sum;
}

void softmax_at_theta_1(std::span<const float> logits, std::span<float> results) { softmax(logits, 1, results); }

void logsumexp(std::span<const float> logits, double theta, std::span<float> results) {
  const double maximum = maximum_of(logits);
  double sum = 0;
  for (const float x : logits) sum += std::exp((x - maximum) / theta);
  results[0] = static_cast<float>(std::isfinite(maximum) ? maximum / theta + std::log(sum) : maximum);
}

// Of bf16, as its bits.
void softmax_of_bits(std::span<const std::uint16_t> logits, double theta, std::span<std::uint16_t> results) {
  std::vector<float> values, coefficients(logits.size());
  for (const std::uint16_t bits : logits) {
    values.push_back(static_cast<float>(numerics::decode(numerics::Format::bf16, bits)));
  }
  softmax<float>(values, theta, coefficients);
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i] = static_cast<std::uint16_t>(numerics::encode(numerics::Format::bf16, coefficients[i]));
  }
}

// Labelled full: Conforms.RowFunctionsOfEveryTypeAreJudged
TEST(Conforms, RowFunctionsOfEveryTypeAreJudged) {
  EXPECT_TRUE(conforms(softmax<float>, "softmax f32"));
  EXPECT_TRUE(conforms(softmax<double>, "softmax f64"));
  EXPECT_TRUE(conforms(softmax_of_bits, "softmax bf16"));
  EXPECT_TRUE(conforms(logsumexp, "logsumexp f32"));
  EXPECT_TRUE(conforms(softmax_at_theta_1, "softmax f32"));
}

// One pass that rescales at every step, by an exponential whose exp(0) is 1 + 40 u.
void softmax_rescaled_at_every_step(std::span<const float> logits, double theta, std::span<float> results) {
  const auto scale = static_cast<float>(1 / theta);
  const auto exponential = [](float x) { return std::exp(x) * (1 + 40 * 0x1p-24F); };
  float maximum = -INFINITY, sum = 0;
  for (const float x : logits) {
    if (!std::isnan(x) && x == -INFINITY) continue;
    const float next = std::isnan(x) || x > maximum ? x : maximum;
    const float factor = sum == 0 ? 1 : exponential((maximum - next) * scale);
    sum = sum * factor + exponential((x - next) * scale);
    maximum = next;
  }
  for (std::size_t i = 0; i < results.size(); ++i) results[i] = exponential((logits[i] - maximum) * scale) / sum;
}

void softmax_too_large(std::span<const float> logits, double theta, std::span<float> results) {
  softmax(logits, theta, results);
  for (float& result : results) result *= 1.25F;
}

TEST(Conforms, AnExpOfZeroThatIsNotOneIsNamed) {
  const std::string rule = "exp(0), which is exactly 1";
  const Conformance inexact = conforms(softmax_rescaled_at_every_step, "softmax f32 exp=E:50,A:1");
  EXPECT_EQ(inexact.verdict, ReportVerdict::fail);
  EXPECT_THAT(inexact.text, HasSubstr(rule));
  const Conformance wrong = conforms(softmax_too_large, "softmax f32");
  EXPECT_EQ(wrong.verdict, ReportVerdict::fail);
  EXPECT_THAT(wrong.text, Not(HasSubstr(rule)));
}

// Labelled full: Conforms.WhatACallableCapturesIsItsOwn
TEST(Conforms, WhatACallableCapturesIsItsOwn) {
  float factor = 1;
  const auto scaled = [&](std::span<const float> logits, double theta, std::span<float> results) {
    softmax(logits, theta, results);
    for (float& result : results) result *= factor;
  };
  EXPECT_TRUE(conforms(scaled, "softmax f32"));
  factor = 1.001F;
  EXPECT_EQ(conforms(scaled, "softmax f32").verdict, ReportVerdict::fail);
}

TEST(Conforms, AFailureTellsItsRowAndItsReplayReproducesIt) {
  const auto wrong = [](std::span<const float> logits, double theta, std::span<float> results) {
    softmax(logits, theta, results);
    if (results.size() > 4) results[4] = 0;
  };
  const Conformance found = conforms(wrong, "softmax f32 sum=tree");
  EXPECT_EQ(found.verdict, ReportVerdict::fail);
  EXPECT_EQ(found.text.rfind("fail: kernel.softmax.", 0), 0U) << found.text;
  for (const char* part : {"expected [0x1.", "got      0x0p+0", "times the threshold", "fails on 5 logits"}) {
    EXPECT_THAT(found.text, HasSubstr(part)) << part << '\n' << found.text;
  }
  const std::string mark = "softcheck::conforms(your_kernel, \"softmax f32 sum=tree\", {.replay = \"";
  const std::size_t begin = found.text.find(mark);
  ASSERT_NE(begin, std::string::npos) << found.text;
  const std::size_t end = found.text.find('"', begin + mark.size());
  ConformanceOptions options;
  options.replay = found.text.substr(begin + mark.size(), end - begin - mark.size());
  EXPECT_EQ(conforms(wrong, "softmax f32 sum=tree", options).verdict, ReportVerdict::fail);
  EXPECT_TRUE(conforms(softmax<float>, "softmax f32", options));
}

TEST(Conforms, ACrashOrAHangIsAFindingAndNotTheEnd) {
  const auto crash = [](std::span<const float> logits, std::span<float>) {
    if (logits.size() > 3) std::abort();
  };
  EXPECT_EQ(conforms(crash, "softmax f32").verdict, ReportVerdict::fail);  // it writes nothing for three
  const auto throwing = [](std::span<const float>, std::span<float>) { throw 1; };
  EXPECT_EQ(conforms(throwing, "softmax f32").verdict, ReportVerdict::crash);
  const auto hang = [](std::span<const float>, std::span<float>) {
    for (;;) pause();
  };
  ConformanceOptions options;
  options.seconds_per_call = 0.3;
  EXPECT_EQ(conforms(hang, "softmax f32", options).verdict, ReportVerdict::timeout);
}

TEST(Conforms, AReadBehindARowIsSeenThroughASpan) {
  const auto reads_on = [](std::span<const float> logits, double theta, std::span<float> results) {
    softmax(logits, theta, results);
    const volatile float* behind = logits.data();
    if (!logits.empty()) static_cast<void>(behind[logits.size()]);
  };
  EXPECT_EQ(conforms(reads_on, "softmax f32").verdict, ReportVerdict::crash);
}

int wants_another_version(const softcheck_call* call) { return call->abi_version == 2 ? 0 : 1; }

TEST(Conforms, AKernelOfAnotherVersionOrTypeRefusesEverything) {
  EXPECT_EQ(conforms(wants_another_version, "softmax f32").verdict, ReportVerdict::refused);
  EXPECT_EQ(conforms(softmax<double>, "softmax f32").verdict, ReportVerdict::refused);
}

// Labelled full: Conforms.LibrariesAreJudgedByName
TEST(Conforms, LibrariesAreJudgedByName) {
  EXPECT_TRUE(conforms(mutants + ":correct_masked_zero", "softmax f32 masked=zero"));
  const Conformance found = conforms(mutants + ":mutant_no_max_shift", "softmax f32");
  EXPECT_FALSE(found);
  EXPECT_THAT(found.text, HasSubstr("replay: softcheck kernel '" + mutants + ":mutant_no_max_shift'"));
  EXPECT_THROW(conforms(mutants + ":no_such_symbol", "softmax f32"), proptests::KernelLoadError);
}

TEST(Conforms, WhereAnotherContractMayFitAnInferenceIsNamed) {
  const std::string kernel = mutants + ":mutant_sum_in_bf16", told = "another contract may fit: ";
  const std::string of_library = conforms(kernel, "softmax f32 sum=tree in-place on n<=600 theta=1").text;
  EXPECT_THAT(of_library,
              HasSubstr(told + "softcheck kernel '" + kernel +
                        "' --op softmax --dtype f32 --require in-place --domain 'n<=600 theta=1' --infer looks"));
  const auto coarse = [](std::span<const float> logits, double theta, std::span<float> results) {
    softmax(logits, theta, results);
    for (float& result : results) result *= 1 + 0x1p-9F;
  };
  const std::string words = "softmax f32 sum=tree in-place exempt=kernel.softmax.row_sum on n<=600 theta=1";
  const Conformance of_function = conforms(coarse, words);
  EXPECT_NE(of_function.text.find(told + "softcheck_infer_function(your_kernel, NULL, &options, &report)"),
            std::string::npos)
      << of_function.text;
  EXPECT_NE(of_function.text.find(
                R"({.size = sizeof(softcheck_options), .op = "softmax", .dtype = "f32", .domain = "n<=600 theta=1", )"
                R"(.require = "in-place", .exempt = "kernel.softmax.row_sum"})"),
            std::string::npos)
      << of_function.text;
  const auto unshifted = [](std::span<const float> logits, std::span<float> results) {
    float sum = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) sum += results[i] = std::exp(logits[i]);
    for (float& result : results) result /= sum;
  };
  EXPECT_THAT(conforms(unshifted, "softmax f32").text, Not(HasSubstr(told)));  // no contract excuses NaN
}

// Labelled full: Conforms.RequirementsAreWordsToo
TEST(Conforms, RequirementsAreWordsToo) {
  const std::string kernel = mutants + ":mutant_not_batch_invariant";
  EXPECT_TRUE(conforms(kernel, "softmax f32"));
  EXPECT_EQ(conforms(kernel, "softmax f32 batch-invariant").verdict, ReportVerdict::fail);
}

TEST(Conforms, UnknownWordsAreToldWhatExists) {
  const auto message = [](const char* words) {
    return proptests::refusal_of([&] { conforms(softmax<float>, words); });
  };
  EXPECT_THAT(message(""), HasSubstr("logsumexp"));
  EXPECT_THAT(message("softmin f32"), HasSubstr("logsumexp"));
  EXPECT_THAT(message("softmax float"), HasSubstr("bf16"));
  EXPECT_THAT(message("softmax f32 sum=quick"), HasSubstr("lanes:K"));
  EXPECT_THAT(message("softmax f32 quickly"), HasSubstr("masked=zero|nan|uniform"));
}

TEST(Conforms, AFailedExpectationPrintsTheReport) {
  EXPECT_NONFATAL_FAILURE(
      EXPECT_TRUE(
          conforms([](std::span<const float>, std::span<float> r) { std::ranges::fill(r, 0.5F); }, "softmax f32")),
      "kernel.softmax.element does not hold on 1 logit");
}

TEST(Effort, WordsAndTheEnvironment) {
  for (const Effort effort : {Effort::quick, Effort::normal, Effort::deep}) {
    EXPECT_EQ(proptests::parse_effort(to_string(effort)), effort);
  }
  EXPECT_THROW(proptests::parse_effort("thorough"), std::invalid_argument);
  const char* set = std::getenv("SOFTCHECK_EFFORT");
  EXPECT_EQ(proptests::effort_from_environment(Effort::normal),
            set == nullptr ? Effort::normal : proptests::parse_effort(set));
  // What is said of each effort: more of everything.
  const proptests::EffortSize quick = size_of(Effort::quick), normal = size_of(Effort::normal),
                              deep = size_of(Effort::deep);
  EXPECT_LT(quick.cases, normal.cases);
  EXPECT_LT(normal.cases, deep.cases);
  EXPECT_GE(deep.rows, 1'000'000U);
}

}  // namespace
}  // namespace softcheck

namespace softcheck::proptests {
namespace {

JudgeOptions few_cases() {
  JudgeOptions options;
  options.run.cases = 60;
  options.limits.seconds_per_call = 60;  // nothing hangs, and loaded machines are slow
  return options;
}

// Labelled full: KernelJudge.*
TEST(KernelJudge, AReplayReproducesTheFailure) {
  const KernelSubject subject = zoo_subject("mutant_drops_tail");
  const KernelJudgement first = judge_kernel(subject, few_cases());
  ASSERT_TRUE(first.counterexample);
  const KernelJudgement again =
      replay_kernel(subject, first.failed_property, first.counterexample->case_text, few_cases());
  ASSERT_TRUE(again.counterexample);
  EXPECT_EQ(again.verdict, ReportVerdict::fail);
  EXPECT_EQ(again.counterexample->failed[0].witness, first.counterexample->failed[0].witness);
}

TEST(KernelJudge, AReplayOfWhatIsNoCaseIsAWrongCall) {
  const KernelSubject subject = zoo_subject("correct_two_pass");
  const std::string property = "Kernel.EveryValueLiesWithinItsThreshold";
  for (const char* text :
       {"", "row", "row f32 theta=0x1p+0", "row f64 theta=0x1p+0 0x0p+0", "row f32 theta=0x1p+0 0x0p+0*4000000000",
        "row f32 theta=0x1p+0 -inf", "row f32 theta=0x1p+100 0x0p+0", "row f32 theta=0x1p+0 0x1.00000001p+0"}) {
    EXPECT_THROW(replay_kernel(subject, property, text, few_cases()), std::invalid_argument) << text;
  }
  EXPECT_THROW(replay_kernel(subject, "Kernel.None", "row f32 theta=0x1p+0 0x0p+0", few_cases()),
               std::invalid_argument);
  EXPECT_EQ(replay_kernel(subject, property, "row f32 theta=0x1p+0 0x0p+0", few_cases()).verdict, ReportVerdict::pass);
}

TEST(KernelJudge, AContractThatPromisesNothingIsVacuous) {
  const KernelJudgement judgement =
      judge_kernel(zoo_subject("correct_two_pass", {.contract = "acc=bf16"}), few_cases());
  EXPECT_EQ(judgement.verdict, ReportVerdict::vacuous);
  EXPECT_TRUE(judgement.vacuity.too_many());
}

TEST(KernelJudge, AnExemptClaimIsANote) {
  KernelSubject subject = zoo_subject("mutant_nan_swallowed");
  EXPECT_EQ(judge_kernel(subject, few_cases()).verdict, ReportVerdict::fail);
  subject.exempt = {"kernel.nan_row"};
  const KernelJudgement judgement = judge_kernel(subject, few_cases());
  EXPECT_EQ(judgement.verdict, ReportVerdict::pass);
  EXPECT_EQ(std::ranges::count(judgement.notes, "does not hold, as known: kernel.nan_row"), 1);
}

TEST(KernelJudge, ExemptingEveryClaimOnValuesLeavesNoPass) {
  KernelSubject subject = zoo_subject("correct_two_pass");
  subject.exempt = {"kernel.softmax.element"};
  EXPECT_EQ(judge_kernel(subject, few_cases()).verdict, ReportVerdict::pass);
  subject.exempt.insert("kernel.softmax.row_sum");
  EXPECT_EQ(judge_kernel(subject, few_cases()).verdict, ReportVerdict::vacuous);
}

TEST(KernelJudge, TheClaimsThatCanBeExemptedAreThoseThatAreJudged) {
  for (const Op op : all_ops()) {
    // No claim needs a large call; of attention's gradient some outputs are asked for by words.
    std::string domain = op->is_attention() ? "batch<=2 heads<=2 queries<=16 keys<=16 dim<=16 values<=16" : "n<=64";
    if (op == Op::attention_backward) domain += " dsinks dbias";
    KernelSubject subject = zoo_subject(op->is_attention() ? "attention_correct_online" : "correct_two_pass");
    subject.op = op;
    subject.required = {true, true, !op->one_value_per_row && !op->is_attention()};
    subject.domain = domain_of(domain, op);
    std::set<std::string> judged{"kernel.accepts"};  // of kernels with a domain alone
    for (const PropertyFinding& property : judge_kernel(subject, quick_options({}, 1)).properties) {
      for (const auto& [claim, summary] : property.outcome.claims) judged.insert(claim);
    }
    const std::vector<std::string> known = kernel_claims(op);
    EXPECT_EQ(judged, std::set<std::string>(known.begin(), known.end())) << to_string(op);
    EXPECT_EQ(parse_exemptions(known, op), judged);
  }
  EXPECT_THROW(parse_exemptions({"kernel.infinite_row"}, Op::attention), std::invalid_argument);
  EXPECT_THROW(parse_exemptions({""}, Op::softmax), std::invalid_argument);
}

TEST(KernelJudge, AnOutputLeftUnwrittenIsNoNan) {
  EXPECT_EQ(judge_kernel(zoo_subject("mutant_nan_row_unwritten"), few_cases()).verdict, ReportVerdict::fail);
}

TEST(KernelJudge, EveryClaimThatFailedIsReportedAsFailed) {
  const KernelSubject subject = zoo_subject("mutant_ignores_mask");
  const std::vector<ReportRow> rows = rows_of(subject, judge_kernel(subject, few_cases()));
  for (const char* claim : {"kernel.softmax.element", "kernel.masked_row"}) {
    const auto row = std::ranges::find(rows, claim, &ReportRow::claim);
    ASSERT_NE(row, rows.end()) << claim;
    EXPECT_EQ(row->verdict, ReportVerdict::fail) << claim;
    ASSERT_FALSE(row->details.empty()) << claim;
    EXPECT_EQ(row->details.back().rfind("replay: softcheck kernel '", 0), 0u) << row->details.back();
  }
}

// A case of another property that the plainest one fails, too, becomes its own and the judgement's.
TEST(KernelJudge, AFailureIsToldByThePlainestPropertyThatHasIt) {
  numerics::Certificate failed;
  failed.claim = "kernel.softmax.element";
  failed.verdict = numerics::Verdict::violated;
  const auto fails = [failed](const RowCase&) { return Certificates{failed}; };
  const Property plain(PropertyOf<RowCase>{kernel_suite, plainest_property, {failed.claim}, row_cases(), fails});
  Outcome holds, broken;
  holds.verdict = numerics::Verdict::proved;
  broken.verdict = numerics::Verdict::violated;
  const std::string text = "row f32 theta=0x1p+0 0x0p+0";
  broken.counterexample = Counterexample{text, 1, {failed}, "", 0, text};
  KernelJudgement judgement;
  judgement.properties = {{plain.name(), holds, ReportVerdict::pass}, {"Kernel.Other", broken, ReportVerdict::fail}};
  judgement.verdict = ReportVerdict::fail;
  judgement.failed_property = "Kernel.Other";
  RunOptions run;
  run.shrinks = 0;
  tell_plainly({{plain, 1}}, run, judgement);
  EXPECT_TRUE(judgement.properties[0].found_by_another);
  EXPECT_EQ(judgement.properties[0].verdict, ReportVerdict::fail);
  EXPECT_EQ(judgement.failed_property, plain.name());
  ASSERT_TRUE(judgement.counterexample);
  EXPECT_EQ(judgement.counterexample->case_text, text);
}

TEST(KernelJudge, RequirementsAreKnownWords) {
  EXPECT_TRUE(parse_requirements("deterministic").deterministic);
  EXPECT_TRUE(parse_requirements("deterministic,batch-invariant").batch_invariant);
  EXPECT_FALSE(parse_requirements("").deterministic);
  for (const char* wrong : {"determined", "deterministic,", ",", "deterministic batch-invariant"}) {
    EXPECT_THROW(parse_requirements(wrong), std::invalid_argument) << wrong;
  }
}

TEST(ParseOp, UnknownOpsAreToldTheKnownOnes) {
  for (const Op op : all_ops()) EXPECT_EQ(parse_op(to_string(op)), op);
  const std::string refusal = refusal_of([] { parse_op("attend"); });
  EXPECT_NE(refusal, "not refused");
  for (const Op op : all_ops()) EXPECT_THAT(refusal, HasSubstr(to_string(op)));
}

}  // namespace
}  // namespace softcheck::proptests
