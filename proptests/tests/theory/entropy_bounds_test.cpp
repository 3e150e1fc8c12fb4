#include "theory/entropy_bounds.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "proptests/tests/theory/hard_rows.hpp"
#include "theory/adaptive_temperature.hpp"
#include "theory/streaming_entropy.hpp"
#include "theory/tempered_row.hpp"

namespace softcheck::theory {
namespace {

using numerics::Decision;
using numerics::Enclosure;
using numerics::Verdict;

// |value - printed| <= half a unit of the last printed digit: the printed number is the rounded one.
::testing::AssertionResult rounds_to(const Enclosure& value, const std::string& printed) {
  const auto digits = printed.size() - printed.find('.') - 1;
  const Enclosure half_unit = Enclosure::decimal("1e-" + std::to_string(digits)) / 2;
  if (less_equal(abs(value - Enclosure::decimal(printed)), half_unit) == Decision::proved) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << value.to_string(20) << " does not round to " << printed;
}

TEST(EntropyBounds, EveryHardRowIsDecided) {
  for (const auto& [logits, theta] : hard_rows()) {
    const LevelRow row(logits);
    auto all = certify_entropy_bounds(row, theta);
    all.push_back(certify_sharp_floor(row, theta));
    expect_proved(all);
  }
}

TEST(EntropyBounds, OneItemAtTheMaximumAloneOverclaims) {
  // Gemma 2B's mean spread at n = 1024: the least entropy is at several items, far below that of one.
  EXPECT_TRUE(rounds_to(two_level_entropy(1024, 1, Enclosure(5.69)), "5.91"));
  EXPECT_TRUE(rounds_to(entropy_floor(1024, {5.69, 0}), "3.96"));
}

TEST(EntropyBounds, TheLeastEntropyIsFoundAmongAllCounts) {
  for (const std::uint64_t n : {2U, 3U, 5U, 64U, 301U}) {
    for (const double delta : {0x1p-40, 0.5, 3.0, 7.0, 20.0, 900.0}) {
      const CountRange range = least_entropy_counts(n, {delta, 0});
      EXPECT_LE(range.last - range.first, 2U);
      const numerics::PrecisionScope scope(256);
      const Enclosure least = entropy_floor(n, {delta, 0});
      for (std::uint64_t k = 1; k < n; ++k) {
        if (k >= range.first && k <= range.last) continue;
        EXPECT_EQ(less(least, two_level_entropy(n, k, Enclosure(delta))), Decision::proved) << n << " " << delta;
      }
    }
  }
}

TEST(EntropyBounds, TheFloorIsThatOfTheLastCountToo) {
  const numerics::PrecisionScope scope(256);
  int last_is_least = 0;
  for (std::uint64_t n = 3; n < 40; ++n) {
    for (const double delta : {0.5, 1.0, 2.5, 4.0, 6.0}) {
      const CountRange range = least_entropy_counts(n, {delta, 0});
      const Enclosure least = entropy_floor(n, {delta, 0});
      const Enclosure first = two_level_entropy(n, range.first, Enclosure(delta));
      const Enclosure last = two_level_entropy(n, range.last, Enclosure(delta));
      EXPECT_NE(less(first, least), Decision::proved) << n << " " << delta;
      EXPECT_NE(less(last, least), Decision::proved) << n << " " << delta;
      last_is_least += less(last, first) == Decision::proved ? 1 : 0;
    }
  }
  EXPECT_GT(last_is_least, 10);
}

TEST(EntropyBounds, BalancedRowsOfTwoValuesAreTheWorstCaseOfTheQuadraticFloor) {
  // As delta -> 0 the floor is used up: the gap is of fourth order.
  const auto all = certify_entropy_bounds(LevelRow(std::vector<double>{0, 0x1p-20}), 1);
  EXPECT_EQ(all[2].verdict, Verdict::proved);
  EXPECT_GE(all[2].slack, 1 - 0x1p-80);
  const auto smallest = certify_entropy_bounds(LevelRow(std::vector<double>{0, 0x1p-1074}), 1);
  EXPECT_EQ(smallest[2].verdict, Verdict::proved);
}

TEST(EntropyBounds, TheSimpleFloorIsTheSmallerOfTwo) {
  EXPECT_EQ(entropy_floor_simple(1, 4.0), -2.0);
  EXPECT_EQ(entropy_floor_simple(1, 16.0), -16.0);
}

using numerics::Format;

constexpr double masked = -std::numeric_limits<double>::infinity();

TEST(StreamingEntropy, EveryHardRowIsDecided) {
  for (const auto& [logits, theta] : hard_rows()) {
    if (theta != 1) continue;
    const MergePlan plan = MergePlan::chunks_of(2, logits.size());
    expect_proved(certify_recurrence(logits));
    expect_proved(certify_monoid(logits));
    expect_proved(certify_every_tree(logits, plan));
    expect_proved(certify_streaming_rounding(logits, plan, Format::f64));
  }
}

// The numbers of streaming_arithmetic in theory/proofs/numerics/streaming_code.v.
// glibc's manual lists 1 ulp for exp and log1p of float and double on x86_64, which is 2 u; of the logarithm 2 ulp are
// granted.
TEST(StreamingEntropy, TheContractGrantsWhatTheCLibraryPromises) {
  for (const Format format : {Format::f64, Format::f32, Format::bf16}) {
    const numerics::Contract contract = streaming_contract(format);
    EXPECT_EQ(contract.exp_error, 2);
    EXPECT_EQ(contract.log_error, 4);
    EXPECT_EQ(contract.input, format);
    EXPECT_EQ(contract.accumulator, format == Format::f64 ? Format::f64 : Format::f32);
    EXPECT_EQ(contract.output, contract.accumulator);
    EXPECT_EQ(contract.subnormals, numerics::Subnormals::kept);
    EXPECT_EQ(contract.exp_argument_error, 1);
    EXPECT_EQ(summation_height(contract, 37), 36U);
  }
  EXPECT_THROW(streaming_contract(Format::f16), std::invalid_argument);
}

TEST(StreamingEntropy, WitnessesShowTheFirstEightLevels) {
  std::vector<double> row;
  for (int k = 0; k < 8; ++k) row.push_back(8 - k);
  const std::string eight =
      "0x1p+3 x1, 0x1.cp+2 x1, 0x1.8p+2 x1, 0x1.4p+2 x1, 0x1p+2 x1, 0x1.8p+1 x1, 0x1p+1 x1, 0x1p+0 x1";
  EXPECT_EQ(witness_text(LevelRow(row), 1), "n=8 theta=0x1p+0 [" + eight + "]");
  row.push_back(0);
  EXPECT_EQ(witness_text(LevelRow(row), 1), "n=9 theta=0x1p+0 [" + eight + ", ...]");
  EXPECT_EQ(witness_text(LevelRow(std::vector<double>{1, 1}), 2), "n=2 theta=0x1p+1 [0x1p+0 x2]");
}

TEST(StreamingEntropy, MaskedBlocksAreTheIdentity) {
  const std::vector<double> row{masked, masked, masked, 1, 2, masked, masked, masked};
  const auto state = streamed_state<double>(row, MergePlan::chunks_of(3, row.size()));
  const auto two_items = streamed_state<double>(std::vector<double>{1, 2}, MergePlan::chunks_of(1, 2));
  EXPECT_EQ(state.maximum, two_items.maximum);
  EXPECT_EQ(state.others, two_items.others);
  EXPECT_EQ(state.moment, two_items.moment);
  EXPECT_THROW(entropy(EntropyState<double, double>{}), std::invalid_argument);
}

TEST(StreamingEntropy, MergingCommutesBitForBit) {
  const auto a = push(entropy_state<float>(1.25F), 0.1F), b = push(entropy_state<float>(1.25F), -3.7F);
  const auto c = push(entropy_state<float>(-2.5F), 7.75F);
  for (const auto& [x, y] : {std::pair(a, b), std::pair(a, c), std::pair(b, c)}) {
    const auto left = merge(x, y), right = merge(y, x);
    EXPECT_EQ(left.others, right.others);
    EXPECT_EQ(left.moment, right.moment);
  }
}

TEST(StreamingEntropy, TinyEntropiesKeepTheirRelativeAccuracy) {
  // e^-60 is far below the unit roundoff of float: S rounds to 1, S - 1 does not.
  const auto state = push(entropy_state<float>(60.0F), 0.0F);
  EXPECT_EQ(state.others + 1.0F, 1.0F);
  EXPECT_GT(entropy(state), 0.0F);
}

TEST(StreamingEntropy, DistancesBeyondTheFormatWeighNothing) {
  const std::vector<double> row{-0x1.fffffep127, 0x1.fffffep127};
  EXPECT_EQ(entropy(streamed_state<float>(row, MergePlan::chunks_of(1, 2))), 0.0F);
  EXPECT_EQ(entropy_two_pass<float>(std::span<const double>(row)), 0.0F);
}

TEST(StreamingEntropy, PlansAreChecked) {
  EXPECT_THROW((MergePlan{{0, 1}, {}}.require_valid(2)), std::invalid_argument);
  EXPECT_THROW((MergePlan{{0, 1, 2}, {}}.require_valid(2)), std::invalid_argument);
  EXPECT_THROW((MergePlan{{0, 1, 2}, {{1, 0}}}.require_valid(2)), std::invalid_argument);
  EXPECT_THROW((MergePlan{{0, 1, 2, 3}, {{1, 2}, {2, 1}}}.require_valid(3)), std::invalid_argument);
  EXPECT_NO_THROW((MergePlan{{0, 1, 1, 3}, {{1, 2}, {0, 1}}}.require_valid(3)));
}

TEST(StreamingEntropy, RescalingsAreThoseOfTheLongestPath) {
  const std::vector<double> ramp{1, 2, 3, 4};
  EXPECT_EQ(plan_rescalings(ramp, MergePlan::chunks_of(4, 4)), 3U);
  EXPECT_EQ(plan_rescalings(ramp, MergePlan::chunks_of(2, 4)), 2U);
  EXPECT_EQ(plan_rescalings(std::vector<double>{4, 3, 2, 1}, MergePlan::chunks_of(4, 4)), 0U);
}

TEST(StreamingEntropy, RoundingIsJudgedInThreeFormatsOnly) {
  const std::vector<double> row{0, 1};
  EXPECT_THROW(certify_streaming_rounding(row, MergePlan::chunks_of(1, 2), Format::f16), std::invalid_argument);
  EXPECT_THROW(certify_streaming_rounding(std::vector<double>{0.1}, MergePlan::chunks_of(1, 1), Format::f32),
               std::invalid_argument);
  const auto not_finite = certify_entropy_within(row, std::nan(""), 1, Format::f32);
  EXPECT_EQ(not_finite.verdict, Verdict::violated);
}

TEST(AdaptiveTemperature, EveryHardRowIsDecided) {
  for (const auto& [logits, theta] : hard_rows()) expect_proved(certify_adaptive_temperature(logits, theta));
}

TEST(AdaptiveTemperature, ThePublishedQuarticHasItsPublishedFacts) { expect_proved(certify_quartic()); }

TEST(AdaptiveTemperature, ItsRootsAreCertifiedToAnyPrecision) {
  for (const unsigned bits : {64U, 512U, 4096U}) {
    const numerics::PrecisionScope scope(bits);
    const ActiveInterval interval = active_interval();
    // Newton's last step loses what the derivative and the coefficients amplify: a dozen bits.
    const Enclosure width = Enclosure::power_of_two(16 - static_cast<long>(bits));
    for (const Enclosure& root : {interval.first, interval.last, interval.at_maximum}) {
      const Enclosure diameter = root - root;
      EXPECT_EQ(less_equal(abs(diameter), width), Decision::proved) << root;
    }
    EXPECT_TRUE((quartic(interval.first) - 1).contains(0.0));
    EXPECT_TRUE((quartic(interval.last) - 1).contains(0.0));
    EXPECT_TRUE(quartic_slope(interval.at_maximum).contains(0.0));
  }
}

TEST(AdaptiveTemperature, TheSlopeAtTheEndIsSteeperThanItsFirstFiveDigits) {
  // 2.5254 is a rounded value, no Lipschitz constant.
  EXPECT_EQ(less(quartic_slope(active_interval().last), -Enclosure::decimal("2.5254")), Decision::proved);
}

TEST(AdaptiveTemperature, TheGuardIsDeadInFloatingPointToo) {
  for (double entropy = 0; entropy <= 12; entropy += 0x1p-10) {
    const double unguarded = quartic(entropy);
    EXPECT_EQ(inverse_temperature(entropy), unguarded > 1 ? unguarded : 1.0);
  }
  EXPECT_EQ(inverse_temperature(BFloat16(0.75)), BFloat16(1));
}

TEST(AdaptiveTemperature, TheEpsilonGapOfEqualLogitsIsKnown) {
  // p = 1/4: H - H_eps = ln(1 + 4e-9).
  const Enclosure epsilon = Enclosure::decimal("1e-9");
  EXPECT_TRUE(epsilon_gap(LevelRow(std::vector<double>(4, 1.0)), 1, epsilon).overlaps(log1p(4 * epsilon)));
}

TEST(AdaptiveTemperature, TheEpsilonGapsClaimAllowsABillionthAnItem) {
  const std::vector<numerics::Certificate> claims = certify_epsilon_gap(LevelRow(std::vector<double>{1, 1, 0}), 1);
  ASSERT_EQ(claims.size(), 2U);
  EXPECT_TRUE(claims[0].left.contains(0.0));
  EXPECT_TRUE(claims[0].right.overlaps(claims[1].left));
  EXPECT_TRUE(claims[1].right.overlaps(3 * Enclosure::decimal("1e-9")));
  EXPECT_TRUE(
      claims[1].left.overlaps(epsilon_gap(LevelRow(std::vector<double>{1, 1, 0}), 1, Enclosure::decimal("1e-9"))));
}

}  // namespace
}  // namespace softcheck::theory
