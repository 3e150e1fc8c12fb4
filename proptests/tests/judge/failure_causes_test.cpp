// What a report tells first, and which causes it names.
#include <algorithm>
#include <cstdlib>

#include "judge/call/evidence.hpp"
#include "judge/report/failure_story.hpp"
#include "judge/trial/attention_hints.hpp"
#include "judge/trial/effort_properties.hpp"
#include "judge/trial/wrong_value.hpp"
#include "judge/verdict/certificate_text.hpp"
#include "proptests/tests/judge/attention_samples.hpp"
#include "proptests/tests/judge/kernel_samples.hpp"
#include "proptests/tests/judge/row_samples.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Certificate;

Certificate failed_value(double expected, double got, double slack, bool hides_nan = false) {
  Certificate failed;
  failed.claim = "kernel.softmax.element";
  failed.verdict = numerics::Verdict::violated;
  failed.slack = slack;
  KernelEvidence evidence;
  evidence.asked.case_text = "row f32 theta=0x1p+0 0x0p+0";
  evidence.asked.hides_nan = hides_nan;
  evidence.value = ReportedValue{0, Enclosure(expected), "", got};
  return with_evidence(std::move(failed), std::move(evidence));
}

TEST(FailureCauses, TheGravestKindComesFirst) {
  const double fill = numerics::decode(Format::f32, 0x7b7b7b7b);
  const std::vector<WrongValue> kinds{
      kind_of(failed_value(0.5, fill, 1e40)),     kind_of(failed_value(0.5, nan, infinity)),
      kind_of(failed_value(0.5, infinity, 1e40)), kind_of(failed_value(0.5, 0, 1e6)),
      kind_of(failed_value(0.5, 0.6, 1e5)),       kind_of(failed_value(0.5, nan, infinity, true)),
      kind_of(failed_value(0.5, 0.50001, 1.2)),   kind_of(Certificate{})};
  EXPECT_TRUE(std::ranges::is_sorted(kinds));
  EXPECT_EQ(std::set<WrongValue>(kinds.begin(), kinds.end()).size(), kinds.size());
  EXPECT_EQ(kind_of(failed_value(0, 0, 1e6)), WrongValue::wrong);  // a zero is due
  for (const auto& [format, bits] : {std::pair{Format::f64, 0x7b7b7b7b7b7b7b7bu}, {Format::bf16, 0x7b7bu}}) {
    EXPECT_EQ(kind_of(failed_value(1, numerics::decode(format, bits), 2)), WrongValue::unwritten);
  }
}

KernelJudgement judgement_of(std::vector<std::pair<std::string, Certificate>> failures) {
  KernelJudgement judgement;
  judgement.verdict = ReportVerdict::fail;
  for (auto& [name, certificate] : failures) {
    PropertyFinding property;
    property.name = name;
    property.verdict = ReportVerdict::fail;
    property.outcome.claims[certificate.claim] = {1, 0, certificate.slack};
    property.outcome.counterexample = Counterexample{
        .case_text = "row f32 theta=0x1p+0 0x0p+0", .size = 3, .failed = {certificate}, .error = "", .first_text = ""};
    judgement.properties.push_back(std::move(property));
  }
  judgement.failed_property = judgement.properties.front().name;
  judgement.counterexample = judgement.properties.front().outcome.counterexample;
  return judgement;
}

TEST(FailureCauses, EachHasOneCounterexample) {
  KernelJudgement judgement = judgement_of({{"Kernel.First", failed_value(0.5, 0.500001, 1.7)},
                                            {"Kernel.Second", failed_value(0.5, nan, infinity)},
                                            {"Kernel.Third", failed_value(0.25, nan, infinity)},
                                            {"Kernel.Fourth", failed_value(0.5, nan, infinity, true)}});
  const std::vector<FailureCause> causes = causes_of(judgement, "kernel.softmax.element");
  ASSERT_EQ(causes.size(), 2U);  // a NaN in a call that hides one may be the same
  EXPECT_EQ(causes[0].kind, WrongValue::nan);
  EXPECT_EQ(causes[0].property->name, "Kernel.Second");
  EXPECT_EQ(causes[1].property->name, "Kernel.First");
  EXPECT_EQ(summary_of(judgement), "fail: kernel.softmax.element does not hold on 3 logits, got NaN");
  choose_gravest(judgement);
  EXPECT_EQ(judgement.failed_property, "Kernel.Second");
  judgement.properties.erase(judgement.properties.begin() + 1, judgement.properties.begin() + 3);
  EXPECT_EQ(causes_of(judgement, "kernel.softmax.element").back().kind, WrongValue::inexact);
  EXPECT_EQ(causes_of(judgement, "kernel.softmax.element").front().kind, WrongValue::hidden_nan);
}

TEST(FailureCauses, NansAndInfinitiesAreOneAndSoAreErrorsOfAnySize) {
  const KernelJudgement judgement = judgement_of({{"Kernel.First", failed_value(0.5, 0.500001, 1.7)},
                                                  {"Kernel.Second", failed_value(0.5, infinity, 1e40)},
                                                  {"Kernel.Third", failed_value(0.5, nan, infinity)},
                                                  {"Kernel.Fourth", failed_value(0.5, 0, 1e6)},
                                                  {"Kernel.Fifth", failed_value(0.5, 0.6, 1e5)}});
  std::vector<std::string> names;
  for (const FailureCause& cause : causes_of(judgement, "kernel.softmax.element"))
    names.push_back(cause.property->name);
  EXPECT_EQ(names, (std::vector<std::string>{"Kernel.Third", "Kernel.Fourth", "Kernel.Fifth"}));
}

std::string table_of(const KernelSubject& subject, const std::vector<std::string>& only) {
  return to_table({rows_of(subject, judged(subject, only))});
}

TEST(FailureCauses, AttentionThatDoesNotRescaleIsToldApartFromZeroTimesNan) {
  const std::vector<std::string> both{"EveryValueLiesWithinItsThreshold", "ALaterKeyIsNotThere"};
  const std::string told = table_of(zoo_subject("mutant_attention_merge_without_rescale", {.op = Op::attention}), both);
  EXPECT_THAT(told, AllOf(HasSubstr("Kernel.EveryValueLiesWithinItsThreshold fails on "), Not(HasSubstr("0 * NaN"))));
}

TEST(FailureCauses, TheJudgeNamesWhatItKnows) {
  EXPECT_THAT(table_of(zoo_subject("mutant_attention_masked_values_times_zero", {.op = Op::attention}),
                       {"AMaskedItemIsADeletedOne"}),
              HasSubstr("cause: this row may not see a NaN that its call holds, but 0 * NaN is NaN"));
  EXPECT_THAT(table_of(zoo_subject("mutant_no_max_shift"), {"EveryValueLiesWithinItsThreshold"}),
              HasSubstr("cause: exp in f32 overflows above 88.72, and this row's largest logit"));
  EXPECT_THAT(
      table_of(zoo_subject("mutant_attention_value_tail", {.op = Op::attention}), {"EveryValueLiesWithinItsThreshold"}),
      HasSubstr("cause: the kernel never wrote this value"));
  // It subtracts the maximum, and multiplies weights by logits: 0 times an infinity.
  const KernelSubject uncentred = zoo_subject("mutant_entropy_uncentred", {.op = Op::entropy});
  EXPECT_THAT(table_of(uncentred, {"EveryValueLiesWithinItsThreshold", "LogitsReachTheirRange"}),
              AllOf(HasSubstr("got      NaN"), Not(HasSubstr("subtract the maximum"))));
  const std::string masked = table_of(zoo_subject("correct_masked_zero"), {"AFullyMaskedRowIsAsDeclared"});
  EXPECT_THAT(masked,
              AllOf(HasSubstr("expected NaN\n        got      0x0p+0 (0)\n"), HasSubstr("masked=zero grants this 0")));
  Certificate no_item;
  no_item.claim = "kernel.masked_row";
  KernelEvidence evidence;
  evidence.value = ReportedValue{{}, {}, "-inf", nan};
  no_item = with_evidence(std::move(no_item), std::move(evidence));
  EXPECT_EQ(cause_of(zoo_subject("f", {.op = Op::logsumexp}), no_item),
            "cause: -inf is due whatever masked= says; -inf - -inf and 0 / 0 are NaN");
  EXPECT_EQ(cause_of(zoo_subject("f", {.op = Op::logsumexp, .contract = "masked=zero"}), no_item),
            "cause: -inf is due whatever masked= says; -inf - -inf and 0 / 0 are NaN");
  EXPECT_EQ(cause_of(zoo_subject("f", {.contract = "masked=zero"}), no_item),
            "cause: a row that sees no item has another value by the contract; masked=nan grants this NaN");
}

TEST(FailureCauses, AnotherReadingThatExplainsAttentionStandsAboveItsValues) {
  const std::string sentence = "EveryValueLiesWithinItsThreshold", told = " the results of ";
  const auto attention_table = [&](const std::string& symbol, Format format = Format::f32) {
    return table_of(zoo_subject(symbol, {.op = Op::attention, .format = format}), {sentence});
  };
  EXPECT_THAT(attention_table("mutant_attention_grouped_heads_interleaved", Format::bf16),
              HasSubstr(told + "a call whose query head h reads key head h % kv_heads (domain heads=interleaved)\n"));
  EXPECT_THAT(attention_table("mutant_attention_causal_plus_one"), Not(HasSubstr(told)));
  EXPECT_THAT(attention_table("mutant_attention_scale_forgotten", Format::f16),
              HasSubstr(told + "a call with scale 1/sqrt(dim)"));
  EXPECT_THAT(attention_table("mutant_attention_scale_twice"), HasSubstr("square of this call's"));
  const std::string top_left = attention_table("mutant_attention_causal_top_left", Format::f64);
  EXPECT_THAT(top_left,
              HasSubstr(told + "a causal call whose first query stands at the first key (domain causal=top-left)\n"));
  const std::size_t cause = top_left.find("cause: the first ");  // once, above the values that it explains
  EXPECT_LT(cause, top_left.find(sentence + " fails on"));
  EXPECT_EQ(cause, top_left.rfind("cause: the first "));
}

// 0 * NaN fails under every reading.
TEST(FailureCauses, AHiddenNanDoesNotHideAnotherReading) {
  AttentionCase finite = drawn_attention(small_attention(4), 1, 1).front();
  finite.nan = 0;
  finite.causal = true;
  finite.attributes = {};
  finite.sequences = {};
  finite.gradients.clear();
  for (std::vector<double>* numbers : {&finite.queries, &finite.keys, &finite.values}) std::ranges::fill(*numbers, 1);
  AttentionCase hidden = finite;
  hidden.values.back() = nan;
  const KernelSubject subject = zoo_subject("f", {.op = Op::attention});
  AttentionHints hints;
  hints.ask(hidden, [](const AttentionCase&) { return false; });
  hints.ask(finite, [](const AttentionCase& other) { return other.causal && other.attributes.top_left; });
  EXPECT_THAT(hints.lines(subject), ::testing::ElementsAre(HasSubstr("domain causal=top-left")));
}

TEST(FailureCauses, ABlockOfKeysIsNamed) {
  const auto told = [](const std::string& symbol) {
    return table_of(zoo_subject(symbol, {.op = Op::attention}), {"EveryValueLiesWithinItsThreshold"});
  };
  EXPECT_THAT(told("mutant_attention_max_of_first_block"), HasSubstr(" keys: look at how blocks of keys are joined"));
  EXPECT_THAT(told("mutant_attention_output_not_rescaled"), Not(HasSubstr("look at how blocks")));  // it fails for two
}

TEST(FailureCauses, ScoresThatAreNotScaledAndAnOppositeMaskAreNamed) {
  AttentionCase call = drawn_attention(small_attention(4), 1, 1).front();
  call.nan = 0;
  call.scale = 0.3;
  call.attributes = {};
  call.sequences = {};
  call.gradients.clear();
  for (std::vector<double>* numbers : {&call.queries, &call.keys, &call.values}) std::ranges::fill(*numbers, 1);
  call.mask.assign(call.shape.batch * call.mask_heads() * call.shape.queries * call.shape.keys, 1);
  const auto told = [&](const std::function<bool(const AttentionCase&)>& is_right) {
    AttentionHints hints;
    hints.ask(call, is_right);
    return joined(hints.lines(zoo_subject("f", {.op = Op::attention})));
  };
  EXPECT_THAT(told([](const AttentionCase& other) { return other.scale == 1; }), HasSubstr("scores are not scaled"));
  EXPECT_THAT(told([](const AttentionCase& other) { return std::ranges::count(other.mask, 0) > 0; }),
              HasSubstr("opposite mask"));
}

// One line says that a second claim has the same cause, and values come before rows without one.
TEST(FailureCauses, ValuesNeverWrittenAreOneCauseOfAllClaims) {
  Certificate masked = failed_value(0, numerics::decode(Format::f32, 0x7b7b7b7b), infinity);
  masked.claim = "kernel.masked_row";
  KernelJudgement judgement = judgement_of(
      {{"Kernel.First", masked}, {"Kernel.Second", failed_value(1, numerics::decode(Format::f32, 0x7b7b7b7b), 1e40)}});
  judgement.errors["kernel.softmax.element"];
  const std::string table = to_table({rows_of(zoo_subject("f"), judgement)});
  const std::size_t cause = table.find("cause: the kernel never wrote this value"),
                    same = table.find("the same cause: Kernel.First on 3 logits, got 1.30577099e+36\n");
  EXPECT_LT(cause, table.find("Kernel.Second fails on 3 logits"));
  EXPECT_LT(cause, same);
  EXPECT_NE(same, std::string::npos) << table;
  EXPECT_EQ(table.find("never wrote", cause + 40), std::string::npos);
}

// The verdict is FAIL, and the crash is the gravest failure.
TEST(FailureCauses, ACrashComesBeforeAWrongValue) {
  Certificate crashed = failed_value(0, 0, infinity);
  crashed.claim = "kernel.returns";
  KernelEvidence evidence;
  evidence.ending = CallEnding{CallEnd::crashed, "exit(1)"};
  crashed = with_evidence(std::move(crashed), std::move(evidence));
  const KernelJudgement judgement =
      judgement_of({{"Kernel.First", failed_value(0.5, 0.6, 1e5)}, {"Kernel.Second", crashed}});
  const std::string table = to_table({rows_of(zoo_subject("f"), judgement)});
  EXPECT_LT(table.find("ended by exit(1)"), table.find("Kernel.First fails"));
  EXPECT_THAT(table, ::testing::ContainsRegex("kernel.returns .* crash "));
}

TEST(FailureCauses, FlagsThatSetFlushToZeroAreNamed) {
  Certificate failed;
  failed.claim = "kernel.keeps_environment";
  KernelEvidence evidence;
  evidence.asked.case_text = loading_remark;
  EXPECT_THAT(cause_of(zoo_subject("f"), with_evidence(failed, evidence)), HasSubstr("GCC's -Ofast and -ffast-math"));
  evidence.asked.case_text = "row f32 theta=0x1p+0 0x0p+0";
  EXPECT_EQ(cause_of(zoo_subject("f"), with_evidence(failed, evidence)), "");
}

// A softmax of compact rows of bf16 that rounds each of these numbers to the format.
KernelSubject softmax_in_bf16(Format format, double scale) {
  const auto kernel = [format, scale](const softcheck_call* call) {
    const DLTensor &in = *call->inputs[0], &out = *call->outputs[0];
    const auto n = static_cast<std::size_t>(in.shape[1]);
    for (std::size_t first = 0; n > 0 && first < n * static_cast<std::size_t>(in.shape[0]); first += n) {
      double most = -infinity, sum = 0;
      for (std::size_t i = 0; i < n; ++i) most = std::fmax(most, number_at(in, Format::bf16, first + i));
      std::vector<double> weights(n);
      for (std::size_t i = 0; i < n; ++i) {
        const double x = numerics::round_to(format, number_at(in, Format::bf16, first + i) - most);
        sum = numerics::round_to(format, sum + (weights[i] = numerics::round_to(format, std::exp(x * scale))));
      }
      for (std::size_t i = 0; i < n; ++i)
        put_at(out, Format::bf16, first + i, numerics::round_to(Format::bf16, weights[i] / sum));
    }
    return 0;
  };
  return own_subject(kernel, {.format = Format::bf16, .domain = "n=2|3 rows=1 theta=1 compact nomask finite"});
}

TEST(FailureCauses, StepsRoundedTo16BitsAreNamed) {
  const std::string cause = "cause: each step seems to be rounded to bf16, ";
  const std::vector<std::string> only{"EveryValueLiesWithinItsThreshold"};
  const KernelSubject narrow = softmax_in_bf16(Format::bf16, 1);
  const KernelJudgement judgement = judged(narrow, only);
  EXPECT_THAT(joined(judgement.notes), HasSubstr(cause));
  EXPECT_EQ(inference_hint(narrow, judgement), "");  // it needs no other contract, but f32
  EXPECT_EQ(judged(softmax_in_bf16(Format::f32, 1), only).verdict, ReportVerdict::pass);
  EXPECT_THAT(joined(judged(softmax_in_bf16(Format::bf16, 1.5), only).notes), Not(HasSubstr(cause)));  // a bug
}

// A softmax of two f32 logits whose first exponential errs by so many u, and that returns zeros for a row with a NaN.
KernelSubject softmax_without_nan(double units) {
  const auto kernel = [units](const softcheck_call* call) {
    const DLTensor &in = *call->inputs[0], &out = *call->outputs[0];
    const double x = number_at(in, Format::f32, 0), y = number_at(in, Format::f32, 1);
    const double ratio = std::exp(x - y) * (1 + units * 0x1p-24), sum = 1 + ratio;
    const bool holds_nan = std::isnan(x) || std::isnan(y);
    put_at(out, Format::f32, 0, holds_nan ? 0 : std::isinf(sum) ? 1 : ratio / sum);
    put_at(out, Format::f32, 1, holds_nan ? 0 : 1 / sum);
    return 0;
  };
  return own_subject(kernel, {.format = Format::f32, .domain = "n=2 rows=1 theta=1 compact nomask"});
}

// Other failures keep --infer from being suggested, so the report says which contract grants the wrong values.
TEST(FailureCauses, TheContractThatGrantsTheValuesIsNamedBesideOtherFailures) {
  const std::vector<std::string> only{"EveryValueLiesWithinItsThreshold", "ANanLogitMakesItsRowNan"};
  const auto told = [&](double units) { return joined(judged(softmax_without_nan(units), only).notes); };
  EXPECT_THAT(told(20), HasSubstr("the smallest calls with wrong values are right under 'exp=2ulp': give that"));
  EXPECT_THAT(told(0), Not(HasSubstr("cause:")));
  EXPECT_THAT(told(1e6), Not(HasSubstr("cause:")));
  EXPECT_EQ(inference_hint(softmax_without_nan(20), judged(softmax_without_nan(20), only)), "");
}

TEST(FailureCauses, ANanOfAHiddenClassIsNamed) {
  const std::string cause = "cause: the row has logits of -inf, and 0 * -inf";
  const std::vector<std::string> only{"EveryValueLiesWithinItsThreshold"};
  for (const char* symbol : {"mutant_cross_entropy_first_block_hidden", "mutant_cross_entropy_without_maximum"}) {
    const bool is_hidden = std::string_view(symbol).ends_with("hidden");
    EXPECT_EQ(table_of(zoo_subject(symbol, {.op = Op::cross_entropy}), only).find(cause) != std::string::npos,
              is_hidden);
  }
}

// Labelled full: FailureCauses.AScaleInTwoFactorsIsNamed
TEST(FailureCauses, AScaleInTwoFactorsIsNamed) {
  const auto notes = [](const std::string& symbol) {
    return joined(judged(zoo_subject(symbol, {.op = Op::attention, .format = Format::bf16, .domain = "nomask"})).notes);
  };
  EXPECT_THAT(notes("attention_correct_split_scale"), HasSubstr("scale=split in a contract grants these errors"));
  EXPECT_THAT(notes("mutant_attention_stored_scale_twice"), Not(HasSubstr("scale=split")));
}

TEST(FailureCauses, ACauseStandsAboveValuesThatHaveNoneOfTheirOwn) {
  KernelJudgement judgement = judgement_of(
      {{"Kernel.Hidden", failed_value(0.5, nan, infinity, true)}, {"Kernel.Inexact", failed_value(0.5, 0.50001, 1.2)}});
  judgement.errors["kernel.softmax.element"];
  judgement.notes = {"cause: another contract"};
  const std::string table = to_table({rows_of(zoo_subject("f"), judgement)});
  EXPECT_LT(table.find("Kernel.Hidden"), table.find("cause: another contract"));
  EXPECT_LT(table.find("cause: another contract"), table.find("Kernel.Inexact"));
  EXPECT_EQ(table.find("cause: another contract"), table.rfind("cause: another contract"));
}

TEST(FailureCauses, ALostNanIsNamed) {
  EXPECT_THAT(
      table_of(zoo_subject("mutant_attention_nan_swallowed", {.op = Op::attention}), {"ANanReachesWhoeverMeetsIt"}),
      HasSubstr("cause: a NaN is lost, as in fmaxf"));
}

TEST(FailureCauses, ATimeLimitNamesTheDomainWithoutTheLongCall) {
  const KernelSubject subject = zoo_subject("f");
  Certificate failed;
  failed.claim = "kernel.returns";
  KernelEvidence evidence;
  evidence.ending = CallEnding{CallEnd::timed_out, "the time limit", {}, {65536, 3}};
  EXPECT_THAT(cause_of(subject, with_evidence(failed, evidence)), HasSubstr("the domain rows<=32768,"));
  evidence.ending->shape = {2, 131072};
  EXPECT_THAT(cause_of(subject, with_evidence(failed, evidence)), HasSubstr("the domain n<=65536,"));
  evidence.ending->shape = {2, 3};
  EXPECT_EQ(cause_of(subject, with_evidence(failed, evidence)), "");
}

TEST(FailureCauses, TritonsInterpreterIsNamedForBf16) {
  const auto told = [](Format format) {
    const KernelSubject subject = zoo_subject("mutant_returns_zeros", {Op::softmax, format});
    return table_of(subject, {"EveryValueLiesWithinItsThreshold"});
  };
  EXPECT_THAT(told(Format::bf16), Not(HasSubstr("TRITON_INTERPRET")));
  setenv("TRITON_INTERPRET", "1", 1);
  EXPECT_THAT(told(Format::bf16), HasSubstr("cause: TRITON_INTERPRET=1: Triton's interpreter cuts f32 off to bf16"));
  EXPECT_THAT(told(Format::f32), Not(HasSubstr("TRITON_INTERPRET")));
  unsetenv("TRITON_INTERPRET");
}

TEST(FailureCauses, PassingClaimsOfAFailureAreNames) {
  const KernelSubject subject = zoo_subject("mutant_no_max_shift");
  const std::string table = table_of(subject, {});
  const std::size_t failed = table.find("  kernel.softmax.element"), row_sum = table.find("  kernel.softmax.row_sum"),
                    passed = table.find("  pass: kernel."), verdict = table.find("  kernel.verdict ");
  EXPECT_LT(failed, row_sum);
  EXPECT_LT(row_sum, passed);
  EXPECT_LT(passed, verdict);
  EXPECT_THAT(table, HasSubstr(", kernel.stays_inside\n"));
  const std::vector<ReportRow> rows = rows_of(subject, judged(subject));
  EXPECT_TRUE(std::ranges::is_sorted(rows.begin(), rows.end() - 1, {}, &ReportRow::claim));  // files keep their order
}

TEST(FailureCauses, DecimalsStandBesideHexFloats) {
  const Certificate failed = failed_value(0.5, 0.49975, 12);
  const std::vector<std::string> lines = failure_lines(failed);
  EXPECT_THAT(lines, ::testing::Contains("expected 0x1p-1 (0.5)"));
  EXPECT_THAT(lines, ::testing::Contains(HasSubstr(" (0.49975)")));
  Certificate of_row = failed;
  KernelEvidence evidence = *evidence_of(failed);
  evidence.asked.numbers = JudgedNumbers{{128, -infinity}, 0.5};
  of_row = with_evidence(std::move(of_row), evidence);
  EXPECT_EQ(failure_lines(of_row)[1], "decimals 128 -inf; theta 0.5");
  EXPECT_EQ(number_text(nan), "NaN");
  EXPECT_EQ(logits_text(0), "an empty call");
  EXPECT_EQ(logits_text(1), "1 logit");
}

// A row of two +inf may be NaN, and need not be its limit.
TEST(FailureCauses, AnInfiniteRowIsDueNanOrItsLimit) {
  ReportedValue value{0, Enclosure(0.5), "NaN", 3};
  EXPECT_EQ(value.expected_text(), "NaN or 0x1p-1");
  EXPECT_THAT(table_of(zoo_subject("mutant_infinite_row_zero"), {"AnInfiniteLogitGivesNanOrTheLimit"}),
              HasSubstr("expected NaN or 0x1p"));
}

TEST(FailureCauses, NoContractIsLookedForWhereNoneCanHelp) {
  KernelJudgement judgement = judgement_of({{"Kernel.First", failed_value(0.5, 0.500001, 1.7)}});
  const KernelSubject subject = zoo_subject("f");
  EXPECT_THAT(inference_hint(subject, judgement), HasSubstr("--infer looks for one"));
  for (const double slack : {1e6, 1e37, infinity}) {  // bf16 grants 65,536 times what f32 does
    judgement = judgement_of({{"Kernel.First", failed_value(0.5, 0.6, slack)}});
    EXPECT_EQ(inference_hint(subject, judgement), "");
    judgement = judgement_of({{"Kernel.First", failed_value(0.5, 0, 1e6)}});
    EXPECT_EQ(inference_hint(subject, judgement), "");
  }
}

using namespace numerics;

}  // namespace
}  // namespace softcheck::proptests
