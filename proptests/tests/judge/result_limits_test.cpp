// What no threshold excuses, however wide it is: NaN, infinities, and numbers beyond what any weights give.
#include "judge/ops/rows/result_limits.hpp"

#include "judge/ops/attention/attention_gradient.hpp"
#include "judge/ops/attention/claim_verdict.hpp"
#include "numerics/filter/element_decision.hpp"
#include "numerics/rounding/flushed_output.hpp"
#include "numerics/rounding/rounding.hpp"
#include "proptests/tests/judge/attention_samples.hpp"
#include "proptests/tests/judge/row_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

bool any_fails(const RowVerdicts& verdicts) { return !all_hold(verdicts); }

Contract contract_in_f32(const char* words) { return parse_contract(words, Format::f32, Format::f32); }

bool row_fails(Op op, const char* words, const std::vector<double>& logits, const std::vector<double>& got) {
  return any_fails(verdicts_of(op, logits, got, {.contract = words}));
}

// One query of dim 1 over keys and values of dim 1.
struct SmallQuery {
  double query;
  std::vector<double> keys, values;
  double scale = 1;

  AttentionRow row() const {
    return {.query = std::span(&query, 1),
            .keys = keys,
            .values = values,
            .value_size = 1,
            .scale = scale,
            .visible = std::vector<std::uint8_t>(keys.size(), 1)};
  }
};

bool attention_fails(Op op, const char* words, const SmallQuery& of, double out,
                     std::optional<double> entropy = std::nullopt) {
  const AttentionTask task{op, contract_in_f32(words), Format::f32};
  return any_fails(judge_attention(task, of.row(), {std::span(&out, 1), std::nullopt, entropy}));
}

TEST(ResultLimits, NoCoefficientIsNanOrAboveOneWhereNothingElseIsPromised) {
  const std::vector<double> logits{1e4, -1e4, 9990};
  ASSERT_FALSE(row_fails(Op::softmax, "acc=bf16", logits, {1, 0, 0}));
  for (const double wrong : {nan, 1e30, -7.0, 1.5}) {
    EXPECT_TRUE(row_fails(Op::softmax, "acc=bf16", logits, {wrong, 0, 0})) << wrong;
    EXPECT_TRUE(row_fails(Op::softmax, "acc=bf16", logits, {1, wrong, 0})) << wrong;
    EXPECT_TRUE(row_fails(Op::adaptive_softmax, "acc=bf16", logits, {1, wrong, 0})) << wrong;
  }
}

TEST(ResultLimits, NoLogarithmOfACoefficientIsPositive) {
  const std::vector<double> logits{1e4, -1e4, 9990};
  for (const char* words : {"acc=bf16", "acc=bf16 lse=uncentred"}) {
    ASSERT_FALSE(row_fails(Op::log_softmax, words, logits, {0, -2e4, -10})) << words;
    for (const double wrong : {nan, 1e30, 3000.0}) {
      EXPECT_TRUE(row_fails(Op::log_softmax, words, logits, {wrong, -2e4, -10})) << words << wrong;
    }
  }
  EXPECT_TRUE(row_fails(Op::log_softmax, "acc=bf16", logits, {0.5, -2e4, -10}));
}

TEST(ResultLimits, AnEntropyLiesBetweenZeroAndLnN) {
  const std::vector<double> logits{1e4, -1e4, 9990};
  ASSERT_FALSE(row_fails(Op::entropy, "acc=bf16", logits, {0.5}));
  for (const double wrong : {nan, 1e30, -7.0, 2.0}) {
    EXPECT_TRUE(row_fails(Op::entropy, "acc=bf16", logits, {wrong})) << wrong;
  }
  EXPECT_TRUE(row_fails(Op::logsumexp, "acc=bf16", logits, {nan}));
}

// A sum of 16-bit numbers stands still: kernels of these contracts return so much.
TEST(ResultLimits, SumsThatStandStillAreNoFailure) {
  std::vector<double> spread(400, -3.0);
  std::fill_n(spread.begin(), 16, 0.0);
  EXPECT_FALSE(row_fails(Op::entropy, "acc=bf16 sum=sequential", spread, {6.75}));
  const SmallQuery alike{0, std::vector<double>(320, 0.0), std::vector<double>(320, 1.5)};
  EXPECT_FALSE(attention_fails(Op::attention, "acc=bf16 sum=sequential", alike, 2));
  EXPECT_TRUE(attention_fails(Op::attention, "acc=bf16 sum=sequential", alike, 1e30));
}

TEST(ResultLimits, AnOutputLiesAmongTheVisibleValues) {
  const SmallQuery peaked{300, {1, -1}, {-1, 1}};
  for (const Op op : {Op::attention, Op::adaptive_attention}) {
    ASSERT_FALSE(attention_fails(op, "acc=bf16", peaked, -1)) << to_string(op);
    for (const double wrong : {nan, 1e30, -7.0, 1.5}) {
      EXPECT_TRUE(attention_fails(op, "acc=bf16", peaked, wrong)) << to_string(op) << wrong;
    }
  }
  // Scores of 1e7 and more under the default contract.
  const SmallQuery large{3e7, {1.1, -0.7, 1.3}, {-3.5, 2, 3.5}};
  ASSERT_FALSE(attention_fails(Op::attention, "", large, 3.5));
  for (const double wrong : {nan, 50.0, 1e30, -7.0}) {
    EXPECT_TRUE(attention_fails(Op::attention, "", large, wrong)) << wrong;
  }
  for (const double wrong : {nan, 1e30, -7.0})
    EXPECT_TRUE(attention_fails(Op::attention, "", large, 3.5, wrong)) << wrong;
}

// 3e24 is known to no 64 bits of its last place: even the exact output is not, but for its range.
TEST(ResultLimits, ScoresThatNoLongDoubleHoldsExcuseNothing) {
  const SmallQuery large{0x1.234566p40, {0x1.98765p41, -0x1.76543p41, 0x1.987652p41}, {-3.5, 2, 3.5}, 0.1};
  ASSERT_FALSE(attention_fails(Op::attention, "", large, 3.5));
  for (const double wrong : {nan, 50.0, 1e30, -7.0}) {
    EXPECT_TRUE(attention_fails(Op::attention, "", large, wrong)) << wrong;
  }
}

// inf - inf, in every kernel that computes in f32.
TEST(ResultLimits, NanIsGrantedWhereScoresLeaveTheAccumulatorsRange) {
  const SmallQuery overflowing{3e38, {10, 11}, {1, 2}};
  EXPECT_FALSE(attention_fails(Op::attention, "", overflowing, nan));
  EXPECT_FALSE(row_fails(Op::entropy, "", {3e38, -3e38}, {0}));
}

TEST(ResultLimits, AMergeLiesAmongItsParts) {
  const std::vector<double> lse{1e4, -1e4, 9990};
  const std::vector<std::vector<double>> outputs{{-1, 0.5, 1}};
  const auto merge_fails = [&](double out) {
    return any_fails(verdicts_of(Op::merge_states, lse, {out, 1e4}, {.contract = "acc=bf16", .auxiliary = outputs}));
  };
  ASSERT_FALSE(merge_fails(-1));
  for (const double wrong : {nan, 1e30, -7.0, 1.5}) EXPECT_TRUE(merge_fails(wrong)) << wrong;
}

// Every op of rows, at logits of which 16 bits keep no digit of the differences.
TEST(ResultLimits, NoOpOfRowsGrantsNan) {
  const std::vector<double> logits{1e4, -1e4, 9990, 0};
  for (const Op op : row_ops()) {
    if (op->of_whole_calls) continue;  // judge_call has them
    const RowOp& rows = op.rows();
    const Contract contract = contract_in_f32("acc=bf16");
    const std::vector<std::vector<double>> inputs = rows.input_values(Format::f32, logits, 0);
    const std::span<const std::vector<double>> auxiliary = std::span(inputs).subspan(1);
    const Attributes attributes = rows.attributes(0, logits.size());
    const RowInputs row{contract, inputs[0], 1, auxiliary, attributes};
    std::vector<double> lower(values_of_row(*op.operator->(), logits.size(), rows.width_of(row))), upper = lower;
    exact_row(op, contract, inputs[0], 1, lower, upper, auxiliary, attributes);
    for (std::size_t i = 0; i < lower.size(); ++i) {
      if (is_index_value(*op.operator->(), i, logits.size(), rows.width_of(row))) continue;
      std::vector<double> got = lower;
      for (double& value : got) value = round_to(contract.output, value);
      ASSERT_FALSE(any_fails(judge_values(op, contract, inputs[0], 1, got, auxiliary, attributes))) << to_string(op);
      got[i] = nan;
      EXPECT_TRUE(any_fails(judge_values(op, contract, inputs[0], 1, got, auxiliary, attributes)))
          << to_string(op) << i;
    }
  }
}

// m - x_j has no finite value in f32, its product with the class's weight has one: a kernel may weight it last.
TEST(ResultLimits, ATermOfASmoothedLossMayOverflowBeforeItIsWeighted) {
  const KernelSubject subject = zoo_subject(
      "correct_cross_entropy", {.op = Op::cross_entropy, .contract = "acc=f32 exp=1ulp sum=sequential masked=nan"});
  for (const int auxiliary : {8, 9, 40, 41, 42, 105}) {
    const std::string row =
        "row f32 theta=0x1p+0 beside=" + std::to_string(auxiliary) + " 0x1p+103 -0x1.fffffep+127 0x0p+0*2";
    const KernelJudgement judgement =
        replay_kernel(subject, "Kernel.EveryValueLiesWithinItsThreshold", row, judge_options(Effort::quick));
    EXPECT_NE(judgement.verdict, ReportVerdict::fail) << row;
  }
}

// subnormal=flushed: a result below the smallest normal number may be 0; one that is not 0 has the threshold that it
// has under subnormal=kept.
constexpr double smallest_normal = 0x1p-14;  // of f16

Contract contract_of(const std::string& words, Format input = Format::f16) {
  return parse_contract("acc=f32 exp=1ulp sum=sequential " + words, input, Format::f16);
}

Row granted(Op op, const Contract& contract, const Row& logits) { return RowBounds(op, contract, logits).allowed; }

Verdict verdict(Op op, const Contract& contract, const Row& logits, const Row& got) {
  return worst(judge_row(op, contract, logits, 1, got, "").certificates);
}

// Under subnormal=kept and under subnormal=flushed.
using Verdicts = std::array<Verdict, 2>;
Verdicts verdicts(Op op, const Row& logits, const Row& got, Format input) {
  return {verdict(op, contract_of("subnormal=kept", input), logits, got),
          verdict(op, contract_of("subnormal=flushed", input), logits, got)};
}
constexpr Verdicts both_hold{Verdict::proved, Verdict::proved}, none_holds{Verdict::violated, Verdict::violated},
    flushed_holds{Verdict::violated, Verdict::proved};

TEST(FlushedOutput, AValueThatCannotHaveBeenFlushedIsGrantedWhatItIsUnderKept) {
  const Row kept = granted(Op::softmax, contract_of("subnormal=kept"), {2, 0});
  const Row flushed = granted(Op::softmax, contract_of("subnormal=flushed"), {2, 0});
  for (const std::size_t i : {0, 1}) {
    EXPECT_LT(kept[i], smallest_normal * (i == 0 ? 8 : 1)) << i;
    EXPECT_GE(flushed[i], kept[i]) << i;
    // What f32 flushes on the way is some 2^-126, and the difference of two thresholds is rounded.
    EXPECT_LE(flushed[i], kept[i] * (1 + 0x1p-50)) << i;
  }
}

TEST(FlushedOutput, AValueNearTheSmallestNormalNumberIsGrantedItself) {
  // 1.0003 times that number: what a kernel makes of it may lie below.
  const Row logits{0, std::log(smallest_normal * 1.0003)};
  const double value = std::exp(logits[1]) / (1 + std::exp(logits[1]));
  const Contract kept = contract_of("subnormal=kept", Format::f64),
                 flushed = contract_of("subnormal=flushed", Format::f64);
  EXPECT_GT(value, smallest_normal);
  EXPECT_LT(granted(Op::softmax, kept, logits)[1], value / 512);
  EXPECT_NEAR(granted(Op::softmax, flushed, logits)[1], value, value * 0x1p-40);
  // A thousandth above it none is flushed.
  const Row beyond{0, std::log(smallest_normal * 1.005)};
  EXPECT_LT(granted(Op::softmax, flushed, beyond)[1], value / 512);
}

TEST(FlushedOutput, AResultThatIsNotZeroWasNotFlushed) {
  const auto at = [](const Row& logits, const Row& got) { return verdicts(Op::softmax, logits, got, Format::f16); };
  EXPECT_EQ(at({2, 0}, {0x1.c3p-1, 0x1.e84p-4}), both_hold);
  EXPECT_EQ(at({2, 0}, {0x1.c3p-1, 0x1.e89p-4}), none_holds);  // 7.5e-5 off
  EXPECT_EQ(at({0, -11}, {1, 0x1.18p-16}), both_hold);
  EXPECT_EQ(at({0, -11}, {1, 0}), flushed_holds);
  EXPECT_EQ(at({0, -11}, {1, 0x1.2p-15}), none_holds);
  EXPECT_EQ(at({0, -9}, {1, 0}), none_holds);  // 1.2e-4
}

// What the filters leave open. p is 2^-20 off 0, and half of that allowed beside what may be flushed.
// Five times the smallest normal number: what an accumulator of f32 may flush on the way to any result.
TEST(FlushedOutput, WhatIsFlushedOnTheWayIsGrantedToAnyResult) {
  constexpr double smallest = 0x1p-126;
  const Contract contract = default_contract(Format::f32, Format::f32);
  for (const double logit : {-120.0, -200.0}) {
    const auto holds = [&](double got) {
      return verdict(Op::softmax, contract, {0, logit}, {1, got}) == Verdict::proved;
    };
    EXPECT_TRUE(holds(0) && holds(smallest / 2) && holds(4.99 * smallest)) << logit;
    EXPECT_FALSE(holds(5.01 * smallest)) << logit;
  }
  const Contract kept = parse_contract("subnormal=kept", Format::f32, Format::f32);
  EXPECT_EQ(verdict(Op::softmax, kept, {0, -200}, {1, smallest / 2}), Verdict::violated);
  EXPECT_EQ(verdict(Op::softmax, kept, {0, -120}, {1, smallest}), Verdict::violated);
}

TEST(FlushedOutput, EnclosuresDecideLikewise) {
  const PrecisionScope precision(113);
  const Row logits{0, std::log(0x1p-20)};
  const RowOracle oracle(logits);
  const auto decided = [&](double flushed, double got) {
    const ElementTolerance tolerance = ElementTolerance::within_relative(0, 0, 0x1p-21, flushed);
    const Decision decision = decide_element(oracle, logits, 1, got, tolerance);
    EXPECT_EQ(decide_element_by_reciprocal(logits, 1, 1, got, tolerance), decision);
    return decision;
  };
  EXPECT_EQ(decided(0, 0), Decision::violated);
  EXPECT_EQ(decided(0x1p-20, 0), Decision::proved);
  EXPECT_EQ(decided(0x1p-20, 0x1p-30), Decision::violated);
  EXPECT_EQ(decided(0x1p-20, -0x1p-30), Decision::violated);
  EXPECT_EQ(decided(0x1p-20, 0x1p-20), Decision::proved);
}

TEST(FlushedOutput, OfScalarsAndLogarithmsLikewise) {
  const Row cancels{-0.6931, -0.6931};  // a log-sum-exp of 4.7e-5
  EXPECT_EQ(verdicts(Op::logsumexp, cancels, {0}, Format::f64), flushed_holds);
  EXPECT_EQ(verdicts(Op::logsumexp, cancels, {round_to(Format::f16, 4.72e-5)}, Format::f64), both_hold);
  EXPECT_EQ(verdicts(Op::logsumexp, cancels, {1e-4}, Format::f64), none_holds);
  EXPECT_EQ(verdicts(Op::entropy, {0, -14}, {0}, Format::f16), flushed_holds);  // 1.2e-5
  EXPECT_EQ(verdicts(Op::entropy, {0, -14}, {6e-5}, Format::f16), none_holds);
  const double first = -0x1.7dp-15, second = -10;  // -ln(1 + e^-10)
  EXPECT_EQ(verdicts(Op::log_softmax, {0, -10}, {first, second}, Format::f16), both_hold);
  EXPECT_EQ(verdicts(Op::log_softmax, {0, -10}, {-0.0, second}, Format::f16), flushed_holds);
  EXPECT_EQ(verdicts(Op::log_softmax, {0, -10}, {-9e-5, second}, Format::f16), none_holds);
}

// Attention's outputs and gradients.
TEST(FlushedOutput, OfAClaimLikewise) {
  const auto decided = [](const Contract& contract, double exact, double got) {
    RowVerdicts verdicts;
    ClaimVerdict claim(
        "kernel.attention.output", contract, [&](std::optional<std::size_t>) { return Enclosure(exact); }, verdicts);
    claim.add(0, {.exact = {exact, 0}, .threshold = smallest_normal + 0x1p-20, .magnitude = 1}, got);
    claim.report();
    return verdicts.findings.at(0).decision;
  };
  const Contract flushed = contract_of("subnormal=flushed");
  EXPECT_EQ(decided(flushed, 0x1p-15, 0), Decision::proved);
  EXPECT_EQ(decided(flushed, 0x1p-15, 0x1p-14), Decision::violated);
  EXPECT_EQ(decided(flushed, 0x1p-15, 0x1p-15 + 0x1p-20), Decision::proved);
  EXPECT_EQ(decided(contract_of("subnormal=kept"), 0x1p-15, 0x1p-14), Decision::proved);
}

TEST(FlushedOutput, TheSumOfARowMayLackWhatIsZeroAlone) {
  const auto sum = [](const Row& logits, const Row& got) {
    return judge_row(Op::softmax, contract_of("subnormal=flushed"), logits, 1, got, "").certificates.at(1).verdict;
  };
  const Row level(20000, 0.0);
  EXPECT_EQ(sum(level, Row(level.size(), 0)), Verdict::proved);
  EXPECT_EQ(sum(Row(16, 0.0), Row(16, 0x1p-4)), Verdict::proved);
  EXPECT_EQ(sum(Row(16, 0.0), Row(16, 0x1.004p-4)), Verdict::violated);
}

TEST(FlushedOutput, IsOfOutputsThatAreNarrowerAlone) {
  for (const Format output : {Format::f16, Format::bf16, Format::e4m3, Format::e5m2}) {
    const Contract flushed = parse_contract("acc=f32 subnormal=flushed", Format::f32, output);
    const FormatProperties& p = properties(output);
    EXPECT_EQ(flushing_excess(flushed), p.smallest_normal - p.smallest_subnormal / 2);
    EXPECT_EQ(threshold_of_result(flushed, 1, 0), 1);
    EXPECT_EQ(threshold_of_result(flushed, 1, -0.0), 1);
    EXPECT_GE(threshold_of_result(flushed, 1, 2), 1 - flushing_excess(flushed));
    EXPECT_EQ(flushing_excess(parse_contract("acc=f32 subnormal=kept", Format::f32, output)), 0);
  }
  EXPECT_EQ(flushing_excess(parse_contract("acc=f32 subnormal=flushed", Format::f32, Format::f32)), 0);
  EXPECT_EQ(threshold_of_result(parse_contract("", Format::f32, Format::f32), 1, 2), 1);
}

}  // namespace
}  // namespace softcheck::proptests
