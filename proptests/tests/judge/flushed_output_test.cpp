// subnormal=flushed: a result below the smallest normal number may be 0; one that is not 0 has the threshold that it
// has under subnormal=kept.
#include "numerics/rounding/flushed_output.hpp"

#include "judge/ops/attention/claim_verdict.hpp"
#include "numerics/filter/element_decision.hpp"
#include "numerics/rounding/rounding.hpp"
#include "proptests/tests/judge/row_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

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
  for (const Format output : all_formats()) {
    const FormatProperties& p = properties(output);
    if (p.storage_bits > 16) continue;
    const Contract flushed = parse_contract("acc=f32 subnormal=flushed", Format::f32, output);
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
