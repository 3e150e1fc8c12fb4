#include <cmath>
#include <tuple>

#include "judge/ops/attention/claim_verdict.hpp"
#include "judge/verdict/value_certificate.hpp"
#include "numerics/oracles/adaptive_oracle.hpp"
#include "numerics/rounding/rounding.hpp"
#include "numerics/rows/row_oracle.hpp"
#include "proptests/tests/judge/row_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

const std::span<const Format> kernel_formats = all_formats();

// What an ideal kernel returns before it rounds to its output: enclosures at the working precision.
std::vector<Enclosure> exact_values(Op op, const Row& logits, double theta) {
  if (op == Op::adaptive_softmax) {
    const AdaptiveRowOracle oracle(logits, EntropyDefinition::exact);
    std::vector<Enclosure> values;
    for (std::size_t i = 0; i < logits.size(); ++i) values.push_back(oracle.softmax(i));
    return values;
  }
  const RowOracle oracle(logits, theta);
  if (op == Op::logsumexp) return {oracle.logsumexp()};
  if (op == Op::entropy) return {oracle.entropy()};
  std::vector<Enclosure> values;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const bool masked = std::isinf(logits[i]);
    if (op == Op::softmax) values.push_back(masked ? Enclosure(0) : oracle.softmax(i));
    // The place of a masked item's logarithm; ideal() puts -inf there.
    if (op == Op::log_softmax) values.push_back(masked ? Enclosure(0) : oracle.log_softmax(i));
  }
  return values;
}

Row ideal(Op op, Format output, const Row& logits, double theta) {
  const PrecisionScope precision(256);
  Row values;
  for (const Enclosure& exact : exact_values(op, logits, theta)) {
    values.push_back(round_to(output, exact.midpoint()));
    const bool masked = !op->one_value_per_row && std::isinf(logits[values.size() - 1]);
    if (masked) values.back() = op == Op::log_softmax ? -infinity : 0;
  }
  return values;
}

std::vector<RowCase> cases_of(Op op, Format input, int count) {
  RowOptions options;
  options.formats = {input};
  options.max_length = 70;
  if (op == Op::adaptive_softmax) options.theta_exponent = 0;
  return drawn(row_cases(options), count, 7, count);
}

Verdict worst_of(Op op, const Contract& contract, const Row& logits, double theta, const Row& got) {
  return worst(judge_row(op, contract, logits, theta, got, "").certificates);
}

// The element that a certificate shows.
std::size_t item_of(const Certificate& certificate) { return evidence_of(certificate)->value->item.value_or(0); }

class OpTest : public ::testing::TestWithParam<Op> {};

TEST_P(OpTest, WhatIsRoundedCorrectlyPasses) {
  const Op op = GetParam();
  for (const Format input : kernel_formats) {
    const Contract contract = default_contract(input, output_format(op, input));
    for (const RowCase& c : cases_of(op, input, 60)) {
      const Row logits = c.row.expand();
      const Row got = ideal(op, contract.output, logits, c.theta);
      for (const Certificate& found : judge_row(op, contract, logits, c.theta, got, to_text(c)).certificates) {
        EXPECT_EQ(found.verdict, Verdict::proved) << found.claim << " " << found.witness;
      }
    }
  }
}

TEST_P(OpTest, WhatIsMovedBeyondItsThresholdFails) {
  const Op op = GetParam();
  int moved = 0;
  for (const Format input : kernel_formats) {
    const Contract contract = default_contract(input, output_format(op, input));
    for (const RowCase& c : cases_of(op, input, 30)) {
      const Row logits = c.row.expand();
      Row got = ideal(op, contract.output, logits, c.theta);
      const RowFindings findings = judge_row(op, contract, logits, c.theta, got, to_text(c));
      if (findings.certificates.empty() || findings.certificates[0].claim == "kernel.softmax.row_sum") continue;
      const Certificate& shown = findings.certificates[0];
      const std::size_t item = item_of(shown);
      const double allowed = shown.right.upper_double();
      const PrecisionScope precision(256);
      const Enclosure exact = exact_values(op, logits, c.theta)[item];
      for (const double factor : {1.01, -1.01}) {
        got[item] = exact.midpoint() + factor * allowed;
        const bool beyond = less(Enclosure(allowed), abs(Enclosure(got[item]) - exact)) == Decision::proved;
        if (!std::isfinite(got[item]) || !beyond) continue;
        ++moved;
        const RowFindings wrong = judge_row(op, contract, logits, c.theta, got, to_text(c));
        ASSERT_FALSE(wrong.certificates.empty());
        EXPECT_EQ(wrong.certificates[0].verdict, Verdict::violated) << wrong.certificates[0].witness;
      }
    }
  }
  EXPECT_GT(moved, 100);
}

TEST_P(OpTest, ANanInOnePlaceFails) {
  const Op op = GetParam();
  const Row logits{1, 2, 3, -infinity, 0};
  const Contract contract = default_contract(Format::f32, Format::f32);
  Row got = ideal(op, Format::f32, logits, 1);
  got.back() = nan;
  EXPECT_EQ(worst_of(op, contract, logits, 1, got), Verdict::violated);
}

INSTANTIATE_TEST_SUITE_P(RowJudge, OpTest, ::testing::ValuesIn(logits_ops()),
                         [](const auto& param_info) { return std::string(to_string(param_info.param)); });

TEST(VacuityCount, ValuesBelowTheSmallestNormalOrTheResolutionAreNotCounted) {
  const Contract contract = parse_contract("acc=f32", Format::f32, Format::f32);
  VacuityCount count;
  EXPECT_TRUE(count.add(contract, 1, 1, true));
  EXPECT_TRUE(count.add(contract, 0x1p-126, 0, false));
  EXPECT_FALSE(count.add(contract, 1, 1.5, true));
  EXPECT_FALSE(count.add(contract, 0x1p-127, 0, true));
  EXPECT_FALSE(count.add(contract, infinity, 0, true));
  EXPECT_EQ(count.judged, 2U);
  EXPECT_EQ(count.vacuous, 1U);
}

TEST(RowJudge, ThresholdsAsWideAsTheValuesAreVacuous) {
  const Row logits(65536, 0.0);
  const Contract contract = parse_contract("acc=bf16 sum=sequential", Format::bf16, Format::bf16);
  for (const Op op : {Op::softmax, Op::logsumexp, Op::entropy}) {
    const Row got = ideal(op, Format::bf16, logits, 1);
    EXPECT_TRUE(judge_row(op, contract, logits, 1, got, "").vacuity.too_many()) << to_string(op);
  }
}

// A total of 4096 terms of size 8 that ends at 0.002, less than its errors, which are small beside the terms; and one
// whose errors are as large as its terms.
TEST(RowJudge, OnlyARunningTotalThatCancelsIsNotVacuous) {
  const Row cancelling(4096, -std::log(4088.0)), plain(65536, 0.0);
  for (const auto& [logits, words, counted] : {std::tuple{&cancelling, "acc=f32 lse=running", 0U},
                                               {&plain, "acc=f32 lse=running", 0U},
                                               {&plain, "acc=bf16 lse=running", 1U}}) {
    const Contract contract = parse_contract(words, Format::f64, Format::f64);
    const Row got = ideal(Op::logsumexp, Format::f64, *logits, 1);
    EXPECT_EQ(judge_row(Op::logsumexp, contract, *logits, 1, got, "").vacuity.vacuous, counted) << words;
  }
}

TEST(RowJudge, GrantsDoNotMakeARowVacuous) {
  // A rising row: a running maximum may be rescaled 299 times, which no kernel has to use. In bf16 the threshold with
  // these grants is wider than the values, and the one without is not.
  Row logits(48);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<double>(i) / 4;
  const Contract contract = parse_contract("acc=bf16 sum=sequential", Format::bf16, Format::bf16);
  const auto row = row_statistics<UpperBound>(RowOracle(logits), rescaling_count(contract, logits));
  ASSERT_TRUE(is_vacuous(upper(softmax_error(contract, row).constant), 1));
  ASSERT_FALSE(is_vacuous(upper(softmax_error(contract, row, Grants::none).constant), 1));
  for (const Op op : {Op::softmax, Op::logsumexp}) {
    EXPECT_FALSE(judge_row(op, contract, logits, 1, ideal(op, Format::bf16, logits, 1), "").vacuity.too_many())
        << to_string(op);
  }
}

TEST(RowJudge, ARowOfWhichNothingIsPromisedIsVacuous) {
  // 70,000 items, each of which may lose f16's smallest normal number: more than S may lose.
  const Row logits(70000, 0.0);
  const Contract contract = parse_contract("acc=f16 sum=tree", Format::f32, Format::f32);
  const Row got(logits.size(), 0.25);
  const RowFindings findings = judge_row(Op::softmax, contract, logits, 1, got, "");
  EXPECT_TRUE(findings.certificates.empty());
  EXPECT_TRUE(findings.vacuity.too_many());
}

TEST(RowJudge, ARowWhoseFiniteThresholdsReachItsValuesIsVacuous) {
  // An exponential that errs by 100 units of bf16 leaves nothing of a result, though no threshold is infinite.
  const Row logits(40, 0.0);
  const Contract contract = parse_contract("acc=bf16 exp=100ulp sum=tree entropy=exact", Format::bf16, Format::bf16);
  for (const Op op : {Op::softmax, Op::log_softmax}) {
    const RowFindings findings = judge_row(op, contract, logits, 1, ideal(op, Format::bf16, logits, 1), "");
    EXPECT_EQ(findings.vacuity.unbounded, 0u) << to_string(op);
    EXPECT_TRUE(findings.vacuity.too_many()) << to_string(op);
  }
}

// Found by judging float64 kernels on a GPU: a matrix of such rows made correct ones vacuous.
TEST(RowJudge, ALogSumExpBeyondAllDoublesCountsApart) {
  const Contract contract = default_contract(Format::f64, Format::f64);
  const auto vacuity = [&](const Row& logits, double theta, double got) {
    return judge_row(Op::logsumexp, contract, logits, theta, Row{got}, "").vacuity;
  };
  const Row largest{0x1.fffffffffffffp+1023}, half{0x1p+1023, 0x1p+1023};
  EXPECT_EQ(vacuity(largest, 1, largest[0]).unresolved, 1u);
  EXPECT_EQ(vacuity(half, 0.25, infinity).unresolved, 1u);
  EXPECT_EQ(vacuity(half, 0.25, infinity).rows, 0u);
  EXPECT_EQ(vacuity(half, 1, half[0]).rows, 1u);
  EXPECT_EQ(vacuity(half, 1, half[0]).unbounded, 0u);
}

TEST(RowJudge, AnInfinityIsWrongWhereTheExactValueIsFiniteUnderEveryContract) {
  const Row zeros(65520, 0.0);
  for (const char* words : {"acc=f16 sum=tree", "acc=f16 sum=sequential", "acc=f16 sum=tree subnormal=flushed", "",
                            "acc=bf16 sum=sequential"}) {
    const auto verdict = [&](Op op, double value) {
      const Contract contract = parse_contract(words, Format::f16, output_format(op, Format::f16));
      const Row got(op->one_value_per_row ? 1 : zeros.size(), value);
      return worst_of(op, contract, zeros, 1, got);
    };
    EXPECT_EQ(verdict(Op::logsumexp, infinity), Verdict::violated) << words;
    EXPECT_EQ(verdict(Op::log_softmax, -infinity), Verdict::violated) << words;
    EXPECT_EQ(verdict(Op::entropy, infinity), Verdict::violated) << words;
  }
  const Contract tree = parse_contract("acc=f16 sum=tree", Format::f16, Format::f16);
  const Row nothing(zeros.size(), 0.0);
  EXPECT_EQ(worst_of(Op::softmax, tree, zeros, 1, nothing), Verdict::violated);
}

// Logits 0 and -x / theta: the second one's logarithm is the exact value, to within 2^-100.
TEST(RowJudge, WhatIsBeyondEightBitsSaturatesOrIsInfiniteOrNan) {
  const auto verdict = [&](Format format, double x, double theta, double got) {
    const Row logits{0, -x}, row{0, got};
    const Contract contract = default_contract(format, format);
    return worst_of(Op::log_softmax, contract, logits, theta, row);
  };
  for (const double right : {-448.0, nan}) EXPECT_EQ(verdict(Format::e4m3, 448, 0.5, right), Verdict::proved) << right;
  for (const double wrong : {-416.0, 448.0, -240.0, 0.0, infinity}) {
    EXPECT_EQ(verdict(Format::e4m3, 448, 0.5, wrong), Verdict::violated) << wrong;
  }
  for (const double right : {-57344.0, -infinity}) {
    EXPECT_EQ(verdict(Format::e5m2, 57344, 0.5, right), Verdict::proved) << right;
  }
  for (const double wrong : {nan, 57344.0, -49152.0, infinity}) {
    EXPECT_EQ(verdict(Format::e5m2, 57344, 0.5, wrong), Verdict::violated) << wrong;
  }
  // Below the middle between the largest number and the next one nothing overflows, however wide the last rounding is.
  EXPECT_EQ(verdict(Format::e4m3, 448, 1, nan), Verdict::violated);
  EXPECT_EQ(verdict(Format::e4m3, 256, 1, nan), Verdict::violated);
  EXPECT_EQ(verdict(Format::e4m3, 256, 1, -448), Verdict::violated);
  EXPECT_EQ(verdict(Format::e4m3, 448, 1, -448), Verdict::proved);
  EXPECT_EQ(verdict(Format::e5m2, 57344, 1, -infinity), Verdict::violated);
  EXPECT_EQ(verdict(Format::e4m3, 416, 0.875, nan), Verdict::proved);  // 475.4
}

// A masked item's logarithm is infinite.
TEST(RowJudge, AMaskedLogarithmIsWhatEightBitsHoldInPlaceOfInfinity) {
  const auto verdict = [&](Format format, double got) {
    const Row logits{0, -infinity}, row{0, got};
    return worst_of(Op::log_softmax, default_contract(format, format), logits, 1, row);
  };
  for (const double right : {-448.0, nan, -infinity}) {
    EXPECT_EQ(verdict(Format::e4m3, right), Verdict::proved) << right;
  }
  for (const double wrong : {448.0, -240.0, 0.0}) EXPECT_EQ(verdict(Format::e4m3, wrong), Verdict::violated) << wrong;
  EXPECT_EQ(verdict(Format::e5m2, -57344), Verdict::proved);
  EXPECT_EQ(verdict(Format::e5m2, nan), Verdict::violated);
  EXPECT_EQ(verdict(Format::f16, -65504), Verdict::violated);
}

TEST(RowJudge, AResultThatRoundsToInfinityIsRightlyInfinite) {
  const Contract contract = parse_contract("", Format::f16, Format::f16);
  const auto verdict = [&](double logit) {
    const Row logits(2048, logit);
    return worst_of(Op::logsumexp, contract, logits, 1, Row{infinity});
  };
  EXPECT_EQ(verdict(65440), Verdict::violated);  // 65447.6, and a threshold of 32
  const Row hotter(2048, 65504);
  EXPECT_EQ(worst_of(Op::logsumexp, contract, hotter, 0.5, Row{infinity}), Verdict::proved);
}

TEST(RowJudge, SignsAndRangesAreJudgedWhateverTheThreshold) {
  const Row logits(65536, 0.0);
  const Contract wide = parse_contract("acc=bf16 sum=sequential", Format::f32, Format::f32);
  const auto softmax = [&](double value) {
    Row got(logits.size(), 0x1p-16);
    got[7] = value;
    return worst_of(Op::softmax, wide, logits, 1, got);
  };
  EXPECT_EQ(softmax(0x1p-16), Verdict::proved);
  EXPECT_EQ(softmax(-0x1p-20), Verdict::violated);
  EXPECT_EQ(softmax(-0.0), Verdict::violated);
  EXPECT_EQ(softmax(2), Verdict::violated);
  const auto entropy = [&](const char* words, double value) {
    const Contract contract = parse_contract(words, Format::f32, Format::f32);
    const Row one{0};
    return worst_of(Op::entropy, contract, one, 1, Row{value});
  };
  EXPECT_EQ(entropy("", 0), Verdict::proved);
  EXPECT_EQ(entropy("", -0.0), Verdict::violated);
  EXPECT_EQ(entropy("", -0x1p-24), Verdict::proved);  // ln(1 - u): an exponential may err by 2 u
  EXPECT_EQ(entropy("entropy_from=coefficients", -0.0), Verdict::proved);
  EXPECT_EQ(entropy("entropy_from=logits", -0.0), Verdict::proved);
  EXPECT_EQ(entropy("", -0x1p-20), Verdict::violated);
}

TEST(RowJudge, AnEmptyRowIsAsAFullyMaskedOne) {
  const auto verdict = [](const char* words, double value) {
    const Contract contract = parse_contract(words, Format::f32, Format::f32);
    return worst_of(Op::entropy, contract, {}, 1, Row{value});
  };
  EXPECT_EQ(verdict("masked=nan", nan), Verdict::proved);
  EXPECT_EQ(verdict("masked=nan", 0), Verdict::violated);
  EXPECT_EQ(verdict("masked=zero", 0), Verdict::proved);
  EXPECT_EQ(verdict("masked=zero", nan), Verdict::violated);
  EXPECT_EQ(verdict("masked=uniform", 0), Verdict::proved);
}

TEST(RowJudge, AMaskedItemIsZeroExactly) {
  const Row logits{0, -infinity};
  const Contract contract = default_contract(Format::f32, Format::f32);  // flushed: its floor is 2^-126 and more
  const auto verdict = [&](double masked) { return worst_of(Op::softmax, contract, logits, 1, Row{1, masked}); };
  EXPECT_EQ(verdict(0), Verdict::proved);
  EXPECT_EQ(verdict(-0.0), Verdict::violated);
  EXPECT_EQ(verdict(0x1p-149), Verdict::violated);
}

TEST(RowJudge, AFullyMaskedRowIsAsTheContractSays) {
  struct Expectation {
    Op op;
    const char* word;
    Row right, wrong;
  };
  const double third = round_to(Format::f32, 1.0 / 3), minus_ln_3 = round_to(Format::f32, -std::log(3.0));
  const Expectation expectations[] = {
      {Op::softmax, "masked=nan", {nan, nan, nan}, {0, nan, nan}},
      {Op::softmax, "masked=zero", {0, 0, 0}, {third, third, third}},
      {Op::softmax, "masked=uniform", {third, third, third}, {0, 0, 0}},
      {Op::softmax, "masked=uniform", {std::nextafter(third, 1), third, third}, {1, 0, 0}},
      {Op::log_softmax, "masked=zero", {-infinity, -infinity, -infinity}, {0, 0, 0}},
      {Op::log_softmax, "masked=uniform", {minus_ln_3, minus_ln_3, minus_ln_3}, {nan, nan, nan}},
      {Op::adaptive_softmax, "masked=uniform", {third, third, third}, {nan, nan, nan}},
      {Op::logsumexp, "masked=nan", {-infinity}, {nan}},
      {Op::entropy, "masked=nan", {nan}, {0}},
      {Op::entropy, "masked=zero", {0}, {nan}},
      {Op::entropy, "masked=uniform", {-minus_ln_3}, {nan}},
  };
  const Row logits(3, -infinity);
  for (const Expectation& e : expectations) {
    const Contract contract = parse_contract(e.word, Format::f32, Format::f32);
    EXPECT_EQ(worst_of(e.op, contract, logits, 1, e.right), Verdict::proved) << to_string(e.op) << " " << e.word;
    EXPECT_EQ(worst_of(e.op, contract, logits, 1, e.wrong), Verdict::violated) << to_string(e.op) << " " << e.word;
  }
}

TEST(RowJudge, AnInfinityIsRightOnlyWhereTheValueIsBeyondTheFormat) {
  const Contract contract = default_contract(Format::f16, Format::f16);
  const Row far{-60000, 60000}, near{-100, 100};
  EXPECT_EQ(worst_of(Op::log_softmax, contract, far, 1, Row{-infinity, 0}), Verdict::proved);
  EXPECT_EQ(worst_of(Op::log_softmax, contract, far, 1, Row{infinity, 0}), Verdict::violated);
  EXPECT_EQ(worst_of(Op::log_softmax, contract, near, 1, Row{-infinity, 0}), Verdict::violated);
}

TEST(RowJudge, ADifferenceMayOverflowBeforeItIsDividedByTheta) {
  // Found by judging our own kernels with other seeds: -0x1p+126 is a number of f32, its difference is not.
  const Contract contract = default_contract(Format::f32, Format::f32);
  const Row far{-0x1p+126, 0x1.8p+127}, near{-0x1p+100, 0x1p+100};
  const Row got{-infinity, 0};
  EXPECT_EQ(worst_of(Op::log_softmax, contract, far, 4, got), Verdict::proved);
  EXPECT_EQ(worst_of(Op::log_softmax, contract, near, 4, got), Verdict::violated);
}

// 1 + 2^-66 away from a value where 1 is allowed: long double rounds the difference to 1.
TEST(ClaimVerdict, WhatLongDoubleRoundsToTheThresholdIsLeftToEnclosures) {
  for (const double exact : {-0x1p-66, 0x1p-66}) {
    RowVerdicts verdicts;
    ClaimVerdict claim(
        "kernel.softmax.element", default_contract(Format::f32, Format::f32),
        [&](std::optional<std::size_t>) { return Enclosure(exact); }, verdicts);
    claim.add(0, {.exact = {exact, 0}, .threshold = 1, .magnitude = 1}, 1);
    claim.report();
    EXPECT_EQ(verdicts.findings.at(0).decision, exact < 0 ? Decision::violated : Decision::proved);
  }
}

TEST(RowJudge, TheWitnessTellsTheErrorInUlps) {
  const Contract contract = default_contract(Format::f32, Format::f32);
  const RowFindings findings = judge_row(Op::softmax, contract, Row{0, 0}, 1, Row{0.5, 0.5 + 0x1p-21}, "row");
  EXPECT_EQ(findings.certificates[0].witness, "row item=1 expected=0x1p-1 got=0x1.00001p-1 error=8ulp(f32)");
}

TEST(RowJudge, AWrongNumberOfValuesIsAWrongCall) {
  const Contract contract = default_contract(Format::f32, Format::f32);
  EXPECT_THROW(judge_row(Op::softmax, contract, Row{0, 0}, 1, Row{1}, ""), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::proptests
