#include "theory/entropy_bounds.hpp"

#include <gtest/gtest.h>

#include <string>

#include "proptests/tests/theory/hard_rows.hpp"

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
    for (const auto& certificate : all) {
      EXPECT_EQ(certificate.verdict, Verdict::proved) << certificate.claim << " " << certificate.witness;
    }
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

}  // namespace
}  // namespace softcheck::theory
