// The lines of a failure: what was due where no threshold judges, ulps as far as they measure anything, and what to try
// next.
#include "judge/call/evidence.hpp"
#include "judge/results/contract_fit.hpp"
#include "judge/verdict/certificate_text.hpp"
#include "judge/verdict/value_certificate.hpp"
#include "judge/verdict/value_tally.hpp"
#include "proptests/tests/judge/tensor_samples.hpp"
#include "proptests/tests/judge/zoo_rows.hpp"

namespace softcheck::proptests {
namespace {

struct JudgementSummary {
  KernelSubject subject;
  KernelJudgement judgement;
  std::string table() const { return to_table({rows_of(subject, judgement)}); }
};

// Of a kernel of the zoo, by the one property that finds it.
JudgementSummary judgement_summary(const std::string& symbol, const std::string& sentence, Op op = Op::softmax,
                                   Format format = Format::f32, const std::string& contract = "") {
  const KernelSubject subject = zoo_subject(symbol, {op, format, contract});
  JudgeOptions options = quick_options({sentence}, 60);
  options.rows = 512;
  return {subject, judge_kernel(subject, options)};
}

TEST(FailureLines, AnInfinityStandsInTheRow) {
  EXPECT_THAT(judgement_summary("mutant_infinite_row_zero", "AnInfiniteLogitGivesNanOrTheLimit").table(),
              AllOf(HasSubstr("row f32 theta=0x1p+0 inf (item 0 of row 0 +inf)"), Not(HasSubstr("0x0p+0 (item 0"))));
}

TEST(FailureLines, ARowWithNothingVisibleSaysWhatIsDue) {
  const std::string sentence = "AFullyMaskedRowIsAsDeclared";
  EXPECT_THAT(judgement_summary("mutant_masked_row_uniform", sentence).table(),
              HasSubstr("expected NaN\n        got      0x1"));
  EXPECT_THAT(judgement_summary("mutant_masked_row_nan", sentence, Op::softmax, Format::f32, "masked=zero").table(),
              HasSubstr("expected 0\n        got      NaN"));
  EXPECT_THAT(judgement_summary("mutant_lse_of_masked_row_nan", sentence, Op::logsumexp, Format::f64).table(),
              HasSubstr("expected -inf\n        got      NaN"));
}

// An ulp at 2^-100 is 2^-123: 1 is off by 2^123 of them.
TEST(FailureLines, AnErrorAboveTheValueIsToldByItsThreshold) {
  ValueFinding finding;
  finding.claim = "kernel.softmax.element";
  finding.expected = Enclosure(0x1p-100);
  finding.got = 1;
  finding.threshold = 0x1p-110;
  finding.decision = Decision::violated;
  const auto error_of = [&] {
    const numerics::Certificate certificate = certificate_of(finding, {}, Format::f32);
    return value_lines(*evidence_of(certificate)->value, certificate).back().text;
  };
  EXPECT_EQ(error_of().rfind("1.3e+33 times the threshold of ", 0), 0U) << error_of();
  finding.got = 0x1p-99;  // twice the value
  EXPECT_EQ(error_of().rfind("8.389e+06ulp(f32), 1.02e+03 times the threshold of ", 0), 0U) << error_of();
  finding.threshold = 0;  // it has no share: the ulps are all there is to tell
  finding.got = 1;
  EXPECT_THAT(error_of(), HasSubstr("ulp(f32)"));
}

// The last rounding of an f32 accumulator alone is 2^29 ulps of f64.
TEST(FailureLines, UlpsAreThoseOfANarrowerAccumulator) {
  const Contract contract = numerics::parse_contract("acc=f32", Format::f64, Format::f64),
                 own = numerics::parse_contract("", Format::f64, Format::f64),
                 wide = numerics::parse_contract("", Format::bf16, Format::bf16);
  EXPECT_EQ(format_of_ulps(contract, Format::f64), Format::f32);
  EXPECT_EQ(format_of_ulps(own, Format::f64), Format::f64);
  EXPECT_EQ(format_of_ulps(wide, Format::bf16), Format::bf16);
  ErrorStatistics errors;
  errors.values = 1;
  errors.worst_ulps = 0x1p+30;
  errors.worst_allowed_ulps = 0x1p+31;
  errors.bias_ulps = -0x1p+28;
  const ErrorStatistics told = in_reported_ulps(errors, contract);
  EXPECT_EQ(told.worst_ulps, 2);
  EXPECT_EQ(told.worst_allowed_ulps, 4);
  EXPECT_EQ(told.bias_ulps, -0.5);
  EXPECT_EQ(in_reported_ulps(errors, own).worst_ulps, errors.worst_ulps);
  EXPECT_EQ(in_reported_ulps(errors, wide).worst_ulps, errors.worst_ulps);
  const std::string table = judgement_summary("mutant_tree_drops_odd_item", "EveryValueLiesWithinItsThreshold",
                                              Op::softmax, Format::f64, "acc=f32")
                                .table();
  EXPECT_THAT(table, AllOf(HasSubstr("ulp(f32), "), Not(HasSubstr("ulp(f64)")), HasSubstr("; ulps are f32's\n")));
}

TEST(FailureLines, WhatIsSmallerThanEveryDoubleIsExpectedAsZero) {
  const numerics::PrecisionScope precision(113);
  ReportedValue value{0, exp(Enclosure(-1000))};
  EXPECT_EQ(value.expected_text(), "0x0p+0");
  value.expected = Enclosure::between(-0x1p-1074, 0x1p-1074);
  EXPECT_EQ(value.expected_text(), "0x0p+0");
  value.expected = Enclosure::between(0, 0x1p-1000);
  EXPECT_EQ(value.expected_text(), "[0x0p+0,0x1p-1000]");
}

TEST(FailureLines, ATableHasNoNumberThatMeansNothing) {
  ReportRow row;
  row.claim = "kernel.softmax.element";
  row.slack = -0.0;
  row.verdict = ReportVerdict::pass;
  row.errors.emplace();
  row.errors->values = 1;
  row.errors->worst_ulps = 0x1p+54;
  row.errors->bias_ulps = -0.0;
  const std::string table = to_table({{row}});
  EXPECT_THAT(table, AllOf(HasSubstr("no digit"), HasSubstr("   +0  pass"), Not(HasSubstr("-0"))));
  row.errors->worst_ulps = 0x1p+53;
  EXPECT_THAT(to_table({{row}}), HasSubstr("9.007e+15"));
}

TEST(FailureLines, AnInferenceIsNamedWhereAnotherContractMayFit) {
  const std::string sentence = "EveryValueLiesWithinItsThreshold";
  const JudgementSummary narrow = judgement_summary("mutant_sum_in_bf16", sentence);
  const std::string hint = inference_hint(narrow.subject, narrow.judgement);
  EXPECT_THAT(hint,
              AllOf(HasSubstr("another contract may fit: softcheck kernel "), HasSubstr(" --infer looks for one")));
  KernelSubject in_c = narrow.subject;
  in_c.source.again = "softcheck_judge_function(f, context, options) with the same options{contract}{replay}";
  EXPECT_EQ(
      inference_hint(in_c, narrow.judgement),
      "another contract may fit: softcheck_infer_function(f, context, options) with the same options but contract "
      "NULL, looks for one");
  for (const auto& [symbol, found_by] : {std::pair<const char*, std::string>{"mutant_no_max_shift", sentence},
                                         {"mutant_nan_swallowed", "ANanLogitMakesItsRowNan"},
                                         {"mutant_crashes", sentence},
                                         {"correct_two_pass", sentence}}) {
    const JudgementSummary other = judgement_summary(symbol, found_by);
    EXPECT_EQ(inference_hint(other.subject, other.judgement), "") << symbol;
  }
}

// By the plainest property, and by those that make calls after others.
JudgementSummary reported_after_others(const std::string& symbol, Op op, const std::string& domain = "") {
  const KernelSubject subject = zoo_subject(symbol, {op, Format::f32, "", domain});
  return {subject, judged(subject, {"EveryValueLiesWithinItsThreshold", "EarlierCallsDoNotMatter",
                                    "EarlierAttributesDoNotMatter", "EarlierLengthsDoNotMatter"})};
}

TEST(FailureLines, ACallThatIsWrongAloneAccusesNoState) {
  for (const auto& [symbol, op, domain] : {std::tuple{"mutant_coefficient_above_one", Op::softmax, ""},
                                           {"mutant_entropy_below_zero", Op::entropy, ""},
                                           {"mutant_attention_merge_without_rescale", Op::attention, ""},
                                           {"mutant_attention_alignment_ignored", Op::attention, "causal=either"}}) {
    const JudgementSummary told = reported_after_others(symbol, op, domain);
    EXPECT_EQ(told.judgement.failed_property, "Kernel.EveryValueLiesWithinItsThreshold") << symbol;
    EXPECT_THAT(told.table(), Not(::testing::ContainsRegex("Kernel.Earlier[A-Za-z]* (fails )?on "))) << symbol;
  }
}

TEST(FailureLines, ACallThatIsRightAloneAccusesState) {
  const JudgementSummary told = reported_after_others("mutant_results_kept_for_same_logits", Op::softmax);
  EXPECT_EQ(told.judgement.failed_property, "Kernel.EarlierCallsDoNotMatter");
  EXPECT_THAT(told.table(), HasSubstr("Kernel.EarlierCallsDoNotMatter fails on "));
  // The plainest property finds these, too, as it makes another call first.
  for (const char* symbol : {"mutant_theta_of_the_first_call", "mutant_previous_call_output"}) {
    EXPECT_THAT(reported_after_others(symbol, Op::softmax).table(), HasSubstr("Kernel.EarlierCallsDoNotMatter on "))
        << symbol;
  }
}

// Without the plainest property the finding stays with its own, and shows the call that it made alone.
TEST(FailureLines, TheRowOfACallAloneIsThatOfTheCall) {
  const JudgementSummary told = judgement_summary("mutant_coefficient_above_one", "EarlierCallsDoNotMatter");
  ASSERT_TRUE(told.judgement.counterexample);
  const KernelEvidence* evidence = evidence_of(told.judgement.counterexample->failed.front());
  ASSERT_NE(evidence, nullptr);
  EXPECT_TRUE(evidence->asked.alone);
  EXPECT_EQ(evidence->asked.case_text, evidence->asked.row_text);
  EXPECT_THAT(told.table(), AllOf(HasSubstr("Kernel.EarlierCallsDoNotMatter made a call that fails alone, too"),
                                  HasSubstr(" (the first call of its process)")));
}

// The lines of a report that are for a reader, and not to be replayed.
std::string lines_to_read(const JudgementSummary& told) {
  std::string lines;
  for (const ReportRow& row : rows_of(told.subject, told.judgement)) {
    for (const std::string& line : row.details) {
      if (!line.starts_with("replay:")) lines += line + "\n";
    }
  }
  return lines;
}

TEST(FailureLines, LabelsAndScalarsStandInWords) {
  const std::string sentence = "EveryValueLiesWithinItsThreshold";
  const std::string ignored =
      lines_to_read(judgement_summary("mutant_cross_entropy_ignores_minus_100", sentence, Op::cross_entropy));
  EXPECT_THAT(ignored, AllOf(HasSubstr(", labels 0, "), HasSubstr("ignore_index 0"), Not(HasSubstr("beside="))));
  const std::string mean = lines_to_read(judgement_summary("mutant_cross_entropy_mean_over_all_rows",
                                                           "LayoutsAndNeighboursDoNotMatter", Op::cross_entropy_mean));
  EXPECT_THAT(mean, AllOf(HasSubstr("row 0: logits "), HasSubstr(", labels -100"), HasSubstr("; row 1: logits "),
                          HasSubstr(", mean, "), Not(HasSubstr("beside="))));
  const std::string backward = lines_to_read(
      judgement_summary("mutant_cross_entropy_backward_forgets_ignore", sentence, Op::cross_entropy_backward));
  EXPECT_THAT(backward, AllOf(HasSubstr(", labels 0, upstream 0x1p+0, ignore_index 0)"), Not(HasSubstr("beside="))));
}

TEST(FailureLines, IdsAreIntegers) {
  const JudgementSummary told =
      judgement_summary("mutant_topk_softmax_padding", "AMaskedItemIsADeletedOne", Op::topk_softmax);
  EXPECT_THAT(told.table(), AllOf(HasSubstr("in the same case: got 2\n"), HasSubstr(", k 1)")));
}

// As its first line in ZOO.tsv asks.
KernelJudgement judgement_in_the_zoo(const std::string& symbol) {
  const std::vector<ZooRow>& zoo = read_zoo();
  const auto row = std::ranges::find(zoo, symbol, [](const ZooRow& one) { return one.symbol; });
  if (row == zoo.end()) throw std::invalid_argument("no " + symbol);
  return judged(subject_of(*row), split(row->property, '|'));
}

TEST(FailureLines, AnAttributeWithoutWhichTheCallIsRightIsNamed) {
  for (const auto& [symbol, name] : std::vector<std::pair<std::string, std::string>>{
           {"mutant_attention_window_right_one_more", "window="},
           {"mutant_attention_backward_window_ignored", "window="},
           {"mutant_attention_backward_softcap_slope_left_out", "softcap="},
           {"mutant_attention_backward_sink_not_in_sum", "sinks"},
           {"mutant_attention_backward_bias_left_out", "bias"},
           {"mutant_attention_backward_alibi_sign", "slopes"},
           {"mutant_attention_backward_dlse_dropped", "dlse"},
           {"mutant_attention_packed_backward_causal_by_longest", "causality"},
           {"mutant_attention_pages_places_by_longest", "slopes"},
           {"mutant_attention_pages_causal_by_capacity", "causality"}}) {
    EXPECT_THAT(
        judgement_in_the_zoo(symbol).notes,
        ::testing::Contains(AllOf(StartsWith("the call that fails is right without "), HasSubstr("without " + name))))
        << symbol;
  }
  EXPECT_THAT(judgement_in_the_zoo("mutant_attention_mean_of_values").notes,
              Not(::testing::Contains(HasSubstr("is right without"))));
}

TEST(FailureLines, ARowOfAWidthThatFailsIsSimple) {
  const JudgementSummary told = judgement_summary("mutant_one_width_drops_its_last", "EveryWidthIsComputed");
  ASSERT_TRUE(told.judgement.counterexample);
  EXPECT_THAT(told.judgement.counterexample->case_text,
              ::testing::MatchesRegex("matrix f32 columns=513 theta=0x1p.0 mask=none ; -0x[^ ;]*[*]512 -0x[^ ;]*"));
}

using namespace numerics;

// Results that fail by their contract: another one is named that all rows keep, or that none does.

constexpr double ample_seconds = 1000;

// A softmax of f32 by the words, and its right output, to be spoiled.
struct FitSample : TensorSample {
  StoredTensor logits, mask;

  explicit FitSample(const std::string& words, double spread = 3) : logits(filled(Format::f32, {6, 8}, spread, 1)) {
    task.inputs = {logits.held()};
    contract = contract_for(task, words);
    rewrite();
  }
  ContractFit fit(const TensorOptions& options = {}, double seconds = ample_seconds) const {
    return fitting_contract(task, contract, std::vector{outputs[0].held()}, judged(options), options, seconds);
  }
};

TEST(ContractFit, RightResultsNeedNone) {
  const ContractFit fit = FitSample("sum=tree").fit();
  EXPECT_FALSE(fit.contract.has_value());
  EXPECT_EQ(fit.tried, 0u);
  EXPECT_EQ(fit.text(), "");
}

// 64 units of roundoff are more than a tree of eight is granted with exp=1ulp, and less than with exp=64ulp.
TEST(ContractFit, AWiderExponentialKeepsTheOtherWords) {
  FitSample sample("sum=tree");
  for (std::size_t i = 0; i < 48; ++i) sample.outputs[0].set(i, sample.outputs[0].at(i) * (1 + 0x1p-18));
  const ContractFit fit = sample.fit();
  ASSERT_TRUE(fit.contract.has_value());
  EXPECT_EQ(fit.contract->summation, sample.contract.summation);
  EXPECT_EQ(fit.contract->accumulator, Format::f32);
  EXPECT_GT(fit.contract->exp_error, sample.contract.exp_error);
  EXPECT_EQ(fit.text().find("every row keeps the contract 'exp="), 0u) << fit.text();
  const std::vector<GivenTensor> outputs{sample.outputs[0].held()};
  EXPECT_EQ(judge_tensors(sample.task, *fit.contract, outputs).verdict, ReportVerdict::pass);
}

// Of eight nearly equal logits the default grants 22 units of roundoff and more, an exponential of 1/8 ulp less
// than 15.
TEST(ContractFit, TheDefaultHasAName) {
  FitSample sample("exp=0.125ulp", 0.01);
  for (std::size_t i = 0; i < 48; ++i) {
    sample.outputs[0].set(i,
                          sample.outputs[0].at(i) * (1 + (i % 2 == 0 ? 18 : -18) * 0x1p-24));  // rows still add up to 1
  }
  EXPECT_EQ(sample.fit().text(),
            "every row keeps the default contract: give that one if the kernel is meant to compute so\n");
}

// Its own accumulator is named for f64 results that f32 computed, and a judgement by it says what that grants.
TEST(ContractFit, WhatF32ComputedIsNoF64) {
  const StoredTensor logits = stored(Format::f64, {6, 8}, sample_numbers(Format::f64, 48, 3, 1));
  TensorTask task;
  task.inputs = {logits.held()};
  const Contract usual = contract_for(task, "");
  const StoredTensor output = stored(Format::f64, {6, 8}, ideal_output(task, usual, 0, Format::f32));
  const std::vector<GivenTensor> outputs{output.held()};
  const TensorJudgement judgement = judge_tensors(task, usual, outputs);
  EXPECT_TRUE(judgement.rows.back().details.empty()) << details_text(judgement);
  const ContractFit fit = fitting_contract(task, usual, outputs, judgement, {}, ample_seconds);
  EXPECT_EQ(fit.text(), "every row keeps the contract 'acc=f32': give that one if the kernel is meant to compute so\n");
  EXPECT_EQ(judge_tensors(task, contract_for(task, "acc=f32"), outputs).rows.back().details,
            std::vector<std::string>{
                "acc=f32 grants the f64 results f32's unit roundoff, 2^-24; acc=f64 grants 2^-53; ulps are f32's"});
}

TEST(ContractFit, WeightsThatAreStoredAreNamed) {
  const StoredTensor q = stored(Format::bf16, {4, 16}, sample_numbers(Format::bf16, 64, 2, 1));
  const StoredTensor k = stored(Format::bf16, {64, 16}, sample_numbers(Format::bf16, 1024, 2, 2));
  const StoredTensor v = stored(Format::bf16, {64, 8}, sample_numbers(Format::bf16, 512, 2, 3));
  TensorTask task;
  task.op = Op::attention;
  task.scale = 0.25;
  task.inputs = {q.held(), k.held(), v.held()};
  const Contract contract = contract_for(task, "");
  StoredTensor out = stored(Format::bf16, {4, 8}, std::vector<double>(32));
  for (std::size_t row = 0; row < 4; ++row) {
    std::vector<double> scores(64);
    double largest = -infinity, total = 0;
    for (std::size_t key = 0; key < 64; ++key) {
      for (std::size_t i = 0; i < 16; ++i) scores[key] += task.scale * q.at(row * 16 + i) * k.at(key * 16 + i);
      largest = std::max(largest, scores[key]);
    }
    std::vector<double> sums(8);
    for (std::size_t key = 0; key < 64; ++key) {
      const double weight = std::exp(scores[key] - largest);
      total += weight;
      for (std::size_t c = 0; c < 8; ++c) sums[c] += numerics::round_to(Format::bf16, weight) * v.at(key * 8 + c);
    }
    for (std::size_t c = 0; c < 8; ++c) out.set(row * 8 + c, sums[c] / total);
  }
  const std::vector<GivenTensor> outputs{out.held()};
  const TensorJudgement judgement = judge_tensors(task, contract, outputs);
  ASSERT_EQ(judgement.verdict, ReportVerdict::fail) << details_text(judgement);
  const ContractFit fit = fitting_contract(task, contract, outputs, judgement, {}, ample_seconds);
  EXPECT_EQ(fit.text(),
            "every row keeps the contract 'weights=bf16': give that one if the kernel is meant to compute so\n");
}

TEST(ContractFit, ARowWithNothingVisibleChoosesItsConvention) {
  for (const char* words : {"masked=uniform", "masked=zero", "masked=nan"}) {
    for (const char* given : {"masked=nan", "masked=zero"}) {
      FitSample sample(given);
      std::vector<std::uint8_t> bytes(48, 1);
      std::fill_n(bytes.begin(), 8, std::uint8_t{0});
      sample.mask = stored_mask({6, 8}, bytes);
      sample.task.inputs.push_back(sample.mask.held());
      const Contract kept = contract_for(sample.task, words);
      sample.outputs[0] = stored(Format::f32, {6, 8}, ideal_output(sample.task, kept, 0, Format::f32));
      const ContractFit fit = sample.fit();
      EXPECT_EQ(fit.contract.value_or(sample.contract).masked, kept.masked) << words << " for " << given;
      EXPECT_EQ(fit.contract.has_value(), kept.masked != sample.contract.masked);
    }
  }
}

TEST(ContractFit, AWrongValueFitsNone) {
  FitSample sample("");
  sample.outputs[0].set(47, sample.outputs[0].at(47) * 1.25);
  const ContractFit fit = sample.fit();
  EXPECT_FALSE(fit.contract.has_value());
  EXPECT_TRUE(fit.all_tried);
  EXPECT_GT(fit.tried, 20u);
  EXPECT_EQ(fit.text(), "none of " + std::to_string(fit.tried) + " usual contracts allow these results\n");
}

TEST(ContractFit, NoContractIsTriedForANanThatIsLostOrWithoutTime) {
  FitSample sample("sum=tree");
  sample.logits.set(3, nan);
  sample.outputs[0].set(47, sample.outputs[0].at(47) * (1 + 0x1p-18));
  EXPECT_EQ(sample.fit().tried, 0u);
  EXPECT_EQ(sample.fit().text(), "");
  const ContractFit exempt = sample.fit({.exempt = {"kernel.nan_row"}});
  EXPECT_TRUE(exempt.contract.has_value());
  FitSample wrong("");
  wrong.outputs[0].set(0, 0.75);
  EXPECT_FALSE(wrong.fit({}, 0).all_tried);
  EXPECT_EQ(wrong.fit({}, 0).text(), "");
}

}  // namespace
}  // namespace softcheck::proptests
