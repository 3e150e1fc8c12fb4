#include "judge/trial/kernel_claims.hpp"
#include "judge/trial/kernel_properties.hpp"
#include "judge/trial/plainest_case.hpp"
#include "proptests/tests/judge/row_samples.hpp"

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
