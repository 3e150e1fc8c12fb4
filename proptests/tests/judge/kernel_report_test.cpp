#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "judge/call/evidence.hpp"
#include "judge/sandbox/printed_lines.hpp"
#include "judge/trial/command_line.hpp"
#include "judge/verdict/value_certificate.hpp"
#include "proptests/tests/judge/kernel_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

JudgeOptions reported_cases() {
  JudgeOptions options = quick_options({}, 60);
  options.rows = 512;
  return options;
}

struct JudgedReport {
  KernelSubject subject;
  KernelJudgement judgement = judge_kernel(subject, reported_cases());
  std::vector<ReportRow> rows() const { return rows_of(subject, judgement); }
  std::string table() const { return to_table({rows()}); }
};

JudgedReport judged_report(const std::string& symbol) { return {zoo_subject(symbol)}; }

TEST(KernelReport, ACommandLineNamesWhatDiffersFromTheDefaults) {
  KernelSubject subject = zoo_subject("f", {.contract = "sum=tree exp=2ulp masked=nan"});
  subject.source.library = "/a b/it's.so";
  subject.required = parse_requirements("deterministic,in-place");
  EXPECT_EQ(command_line(subject),
            "softcheck kernel '/a b/it'\\''s.so:f' --op softmax --dtype f32 --contract 'exp=2ulp sum=tree' "
            "--require deterministic,in-place");
  EXPECT_TRUE(command_line(subject, "P row x").ends_with(" --replay 'P row x'"));
  subject.exempt = {"kernel.nan_row"};
  EXPECT_TRUE(command_line(subject, "P row x").ends_with(" --exempt kernel.nan_row --replay 'P row x'"));
  subject.op = Op::logsumexp;
  subject.contract = numerics::default_contract(Format::f16, Format::f16);
  EXPECT_THAT(command_line(subject), HasSubstr("--dtype f16 --out-dtype f16"));
  subject.source = {"", "kernel", [](const softcheck_call*) { return 1; }};
  EXPECT_EQ(command_line(subject, "P row x"),
            "softcheck::conforms(kernel, \"logsumexp f16 out=f16 deterministic in-place exempt=kernel.nan_row\", "
            "{.replay = \"P row x\"})");
}

TEST(KernelReport, WordsBeyondTheDefaultReadBack) {
  for (const char* words : {"", "acc=f64", "exp=E:3,A:2 sum=lanes:8", "masked=zero subnormal=kept lse=uncentred"}) {
    const Contract contract = numerics::parse_contract(words, Format::f32, Format::f32);
    EXPECT_EQ(words_beyond_default(contract), words);
    EXPECT_EQ(numerics::parse_contract(words_beyond_default(contract), Format::f32, Format::f32), contract);
  }
}

TEST(KernelReport, AnAccumulatorNarrowerThanTheResultsIsToldOf) {
  const std::string told =
      "acc=f32 grants the f64 results f32's unit roundoff, 2^-24; acc=f64 grants 2^-53; ulps are f32's";
  KernelSubject subject = zoo_subject("f");
  EXPECT_TRUE(rows_of(subject, {}).back().details.empty());
  subject.contract = numerics::parse_contract("acc=f32", Format::f64, Format::f64);
  EXPECT_EQ(rows_of(subject, {}).back().details, std::vector<std::string>{told});
  subject.contract = numerics::parse_contract("", Format::f64, Format::f64);
  EXPECT_TRUE(rows_of(subject, {}).back().details.empty());
}

TEST(KernelReport, APassTellsHowCloseItWasAndWhatWasNotTried) {
  const JudgedReport judged = judged_report("correct_two_pass");
  EXPECT_EQ(summary_of(judged.judgement), "pass");
  const Report report{judged.rows()};
  const auto element = std::ranges::find(report.rows, "kernel.softmax.element", &ReportRow::claim);
  ASSERT_NE(element, report.rows.end());
  ASSERT_TRUE(element->errors);
  EXPECT_GT(element->errors->values, 1000U);
  EXPECT_GT(element->errors->worst_ulps, 0.5);
  EXPECT_LE(element->errors->worst_ulps, element->errors->worst_allowed_ulps);
  EXPECT_LT(std::abs(element->errors->bias_ulps), element->errors->worst_ulps);
  EXPECT_FALSE(report.rows.back().not_tried.empty());

  const nlohmann::json json = nlohmann::json::parse(to_json(report));
  const auto& claims = json["claims"];
  EXPECT_FALSE(claims.back()["not_tried"].empty());
  EXPECT_EQ(claims[static_cast<std::size_t>(element - report.rows.begin())]["errors"]["worst_ulps"],
            element->errors->worst_ulps);
  EXPECT_THAT(to_junit(report), HasSubstr("<system-out>error/threshold at most "));
  EXPECT_THAT(to_junit(report), HasSubstr("<system-out>not tried: "));
  EXPECT_THAT(to_table(report), HasSubstr("worst ulp    allowed   bias ulp"));
  EXPECT_THAT(to_table(report),
              Not(AnyOf(HasSubstr("not tried: shifts"), HasSubstr("isolation: "), HasSubstr("covered: "))));
  EXPECT_THAT(to_table(report), HasSubstr(" (not tried: up to 1000000)"));
  EXPECT_THAT(to_table(report, {.verbose = true}),
              AllOf(HasSubstr("      not tried: shifts"), HasSubstr("      isolation: "), HasSubstr("covered: ")));
  EXPECT_THAT(claims.back()["details"].dump(), HasSubstr("isolation: "));
}

// The evidence of the first failed certificate of a claim.
KernelEvidence evidence_in(const KernelJudgement& judgement, const std::string& claim) {
  for (const PropertyFinding& property : judgement.properties) {
    if (!property.outcome.counterexample) continue;
    for (const numerics::Certificate& certificate : property.outcome.counterexample->failed) {
      const KernelEvidence* evidence = evidence_of(certificate);
      if (certificate.claim == claim && evidence != nullptr) return *evidence;
    }
  }
  ADD_FAILURE() << "no evidence of " << claim;
  return {};
}

TEST(KernelReport, EvidenceSaysHowACallEnded) {
  const JudgedReport judged = judged_report("mutant_crashes");
  const KernelEvidence evidence = evidence_in(judged.judgement, "kernel.returns");
  ASSERT_TRUE(evidence.ending);
  EXPECT_EQ(evidence.ending->end, CallEnd::crashed);
  EXPECT_THAT(evidence.ending->death, HasSubstr("signal"));
  const nlohmann::json json = nlohmann::json::parse(to_json({judged.rows()}));
  const auto returns =
      std::ranges::find(json["claims"], "kernel.returns", [](const auto& row) { return row["claim"]; });
  ASSERT_NE(returns, json["claims"].end());
  EXPECT_EQ((*returns)["failed"][0]["evidence"]["end"], "crashed");
  EXPECT_EQ((*returns)["failed"][0]["evidence"]["death"], evidence.ending->death);
}

TEST(KernelReport, EvidenceSaysWhatWasExpectedAndGot) {
  const KernelEvidence element = evidence_in(judged_report("mutant_sum_in_bf16").judgement, "kernel.softmax.element");
  ASSERT_TRUE(element.value && element.value->expected && element.value->item && element.value->ulps);
  EXPECT_FALSE(element.value->expected->contains(element.value->got));
  EXPECT_GT(*element.value->ulps, 1);
  EXPECT_EQ(element.value->format, Format::f32);
}

TEST(KernelReport, ANumberInTheRowOfANanIsTold) {
  const JudgedReport judged = judged_report("mutant_nan_swallowed");
  const KernelEvidence evidence = evidence_in(judged.judgement, "kernel.nan_row");
  ASSERT_TRUE(evidence.value);
  EXPECT_EQ(evidence.value->due, "NaN");
  EXPECT_FALSE(std::isnan(evidence.value->got));
  const std::string table = judged.table();
  EXPECT_THAT(table, HasSubstr("got      " + numerics::hex_float(evidence.value->got)));
}

TEST(KernelReport, AFailureIsToldByThePropertyThatAsksTheLeast) {
  const JudgedReport judged = judged_report("mutant_sum_in_bf16");
  EXPECT_EQ(judged.judgement.failed_property, "Kernel.EveryValueLiesWithinItsThreshold");
  ASSERT_TRUE(judged.judgement.counterexample);
  EXPECT_LE(judged.judgement.counterexample->size, 8U);
  EXPECT_TRUE(judged.judgement.counterexample->case_text.starts_with("row f32 "))
      << judged.judgement.counterexample->case_text;
  const std::string table = judged.table();
  EXPECT_THAT(table, HasSubstr("Kernel.EveryValueLiesWithinItsThreshold fails on "));
  // What only a layout shows is told by the layout.
  const KernelJudgement strided = judged_report("mutant_ignores_column_stride").judgement;
  EXPECT_EQ(strided.failed_property, "Kernel.LayoutsAndNeighboursDoNotMatter");
}

// Labelled full: KernelReport.AFailureOfManyRowsIsToldByTheRowAndItsNumber
TEST(KernelReport, AFailureOfManyRowsIsToldByTheRowAndItsNumber) {
  const JudgedReport judged = judged_report("mutant_row_index_in_8_bits");
  const KernelEvidence evidence = evidence_in(judged.judgement, "kernel.softmax.element");
  ASSERT_TRUE(evidence.asked.row);
  EXPECT_GE(*evidence.asked.row, 256U);
  const std::string number = " row " + std::to_string(*evidence.asked.row) + " of ";
  EXPECT_TRUE(evidence.asked.row_text.starts_with("row f32 ")) << evidence.asked.row_text;
  for (const ReportRow& row : judged.rows()) {
    if (row.claim != "kernel.softmax.element") continue;
    ASSERT_GT(row.details.size(), 1U);
    EXPECT_THAT(row.details[1], HasSubstr(number));
    EXPECT_LT(row.details[1].size(), 600U);
  }
}

TEST(KernelReport, WhatAKernelPrintedBeforeItDiedIsTold) {
  const JudgedReport judged = judged_report("mutant_explains_its_death");
  EXPECT_EQ(judged.judgement.verdict, ReportVerdict::crash);
  const KernelEvidence evidence = evidence_in(judged.judgement, "kernel.returns");
  ASSERT_TRUE(evidence.ending);
  ASSERT_EQ(evidence.ending->printed.size(), most_printed_lines);
  if (const char* emulator = std::getenv("SOFTCHECK_EMULATOR")) {
    GTEST_SKIP() << emulator << " prints a line of its own behind those of a kernel that aborts";
  }
  EXPECT_EQ(evidence.ending->printed.back(), "\\x1b[31mValueError: expected row \\x07");
  const std::string table = judged.table();
  EXPECT_THAT(table, HasSubstr("| \\x1b[31mValueError: expected row \\x07"));
  EXPECT_EQ(table.find('\x1b'), std::string::npos);
}

TEST(KernelReport, LastBytesBeginWithALineAndWhereTheyAreAskedTo) {
  const int file = memfd_create("printed", 0);
  ASSERT_GE(file, 0);
  dprintf(file, "first\nsecond\n");
  EXPECT_EQ(last_bytes(file), "first\nsecond\n");
  EXPECT_EQ(last_bytes(file, 6), "second\n");
  EXPECT_EQ(last_bytes(file, 13), "");
  dprintf(file, "%s\nthe end", std::string(most_printed_bytes - 20, 'x').c_str());
  EXPECT_EQ(last_bytes(file), "second\n" + std::string(most_printed_bytes - 20, 'x') + "\nthe end");
  dprintf(file, "\n%s\n", std::string(most_printed_bytes, 'y').c_str());
  EXPECT_EQ(last_bytes(file), std::string(most_printed_bytes - 1, 'y') + "\n");
  close(file);
}

TEST(KernelReport, PrintedLinesAreTheLastOnesAndWithoutControls) {
  EXPECT_TRUE(last_lines("").empty());
  EXPECT_TRUE(last_lines("\n\n").empty());
  EXPECT_EQ(last_lines("a\n\nb"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(last_lines("\xff\xc2\x9b\t\xc3\xa9"), (std::vector<std::string>{"\\xff\\xc2\\x9b\\x09\xc3\xa9"}));
  EXPECT_EQ(last_lines("a\nb\n\nb\nb\na\n"), (std::vector<std::string>{"a", "b (repeated)", "a"}));
  std::string many;
  for (int i = 0; i < 100; ++i) many += std::to_string(i) + "\n";
  EXPECT_EQ(last_lines(many).size(), most_printed_lines);
  EXPECT_EQ(last_lines(many).back(), "99");
}

// A softmax of compact f32 rows that gives one coefficient too much from two items on, and NaNs from five on.
int wrong_by_length(const softcheck_call* call) {
  each_compact_row(*call, [](std::span<const float> x, std::span<float> p) {
    softmax_in_double(x, p);
    if (p.size() >= 2) p[0] *= 1.01f;
    if (p.size() >= 5) p[0] = NAN;
  });
  return 0;
}

TEST(KernelReport, OtherFailuresAreOfOtherRowsAndAnInfiniteSlackBesideAFiniteOneIsExplained) {
  const std::string table = JudgedReport{own_subject(wrong_by_length, {.domain = "theta=1 nomask compact"})}.table();
  EXPECT_THAT(table, HasSubstr("slack inf is of another case"));
  // Each property shrinks to the same row, and so none is named (proptests/tests/transcripts/messages.txt has one that is).
  EXPECT_THAT(table, Not(HasSubstr("also fails: ")));
  // Masks have no part in this failure: a row with a hidden item shrinks to the told row.
  const std::string same =
      JudgedReport{zoo_subject("mutant_no_max_shift", {.domain = "theta=1 nomask compact n=1"})}.table();
  EXPECT_THAT(same, HasSubstr(" fails on 1 logit"));
  EXPECT_THAT(same, Not(HasSubstr("Masked")));
}

TEST(KernelReport, UlpsAreCountedWhereTheThresholdLeavesADigit) {
  ErrorSums sums;
  sums.add(Format::f32, 0x1p-126, 0x1p-126, 0, 0x1p-126);  // may be flushed: no digit is promised
  EXPECT_EQ(sums.values, 0U);
  sums.add(Format::f32, 1, 0x1p-23, 3, 0x1p-21);
  EXPECT_EQ(sums.values, 1U);
  EXPECT_EQ(sums.worst_ulps, 1);
  EXPECT_EQ(sums.worst_allowed, 4);
}

TEST(KernelReport, AFailureIsToldOnceByItsSmallestCase) {
  const JudgedReport judged = judged_report("mutant_no_max_shift");
  const std::string table = judged.table();
  const std::string replay = "replay: softcheck kernel";
  const std::size_t first = table.find(replay);
  ASSERT_NE(first, std::string::npos) << table;
  // The row sum fails in the same case as its element.
  EXPECT_THAT(table, HasSubstr("in the same case: expected 0x1p+0"));
  EXPECT_EQ(summary_of(judged.judgement).rfind("fail: kernel.softmax.element does not hold on 1 logit", 0), 0U)
      << summary_of(judged.judgement);
}

TEST(KernelReport, ASuiteTakesAsLongAsItsJudgement) {
  Report report;
  for (const auto& [claim, seconds] :
       {std::pair{"kernel.returns", 2.0}, {"kernel.nan_row", 3.0}, {"kernel.verdict", 5.5}}) {
    ReportRow row;
    row.claim = claim;
    row.subject = "f";
    row.seconds = seconds;
    row.verdict = ReportVerdict::pass;
    report.rows.push_back(row);
  }
  EXPECT_THAT(to_junit(report),
              HasSubstr("<testsuite name=\"f\" tests=\"3\" failures=\"0\" errors=\"0\" skipped=\"0\" time=\"5.5"));
}

// What a property decided before and after shrinking: two claims broken by the case as it was drawn, one by the last.
KernelJudgement shrunk_to_one_claim(double other_slack) {
  PropertyFinding property;
  property.name = "Kernel.EveryPairOfClassesIsComputed";
  property.verdict = ReportVerdict::fail;
  property.outcome.claims["kernel.nan_row"] = {2, 0, other_slack};
  property.outcome.claims["kernel.softmax.element"] = {2, 0, 4};
  numerics::Certificate certificate;
  certificate.claim = "kernel.softmax.element";
  certificate.verdict = numerics::Verdict::violated;
  property.outcome.counterexample = Counterexample{.case_text = "row f32 theta=0x1p+0 0x0p+0",
                                                   .size = 1,
                                                   .failed = {certificate},
                                                   .error = "",
                                                   .first_text = "row f32 theta=0x1p+0 0x0p+0*9"};
  KernelJudgement judgement;
  judgement.verdict = ReportVerdict::fail;
  judgement.properties = {property};
  return judgement;
}

TEST(KernelReport, AClaimThatOnlyTheLargerCaseBreaksIsNoPass) {
  const KernelSubject subject = zoo_subject("f");
  const auto row_of = [&](double slack) {
    const std::vector<ReportRow> rows = rows_of(subject, shrunk_to_one_claim(slack));
    return *std::ranges::find(rows, "kernel.nan_row", &ReportRow::claim);
  };
  const ReportRow broken = row_of(infinity);
  EXPECT_EQ(broken.verdict, ReportVerdict::fail);
  ASSERT_EQ(broken.details.size(), 2U);
  EXPECT_TRUE(broken.details[1].ends_with("EveryPairOfClassesIsComputed row f32 theta=0x1p+0 0x0p+0*9'"));
  EXPECT_EQ(row_of(1).verdict, ReportVerdict::pass);  // a bound that is attained
  EXPECT_TRUE(row_of(1).details.empty());
}

}  // namespace
}  // namespace softcheck::proptests
