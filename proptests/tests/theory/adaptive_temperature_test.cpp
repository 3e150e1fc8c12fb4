#include "theory/adaptive_temperature.hpp"

#include <gtest/gtest.h>

#include "proptests/tests/theory/hard_rows.hpp"
#include "theory/tempered_row.hpp"

namespace softcheck::theory {
namespace {

using numerics::Decision;
using numerics::Enclosure;
using numerics::Verdict;

TEST(AdaptiveTemperature, EveryHardRowIsDecided) {
  for (const auto& [logits, theta] : hard_rows()) {
    for (const auto& certificate : certify_adaptive_temperature(logits, theta)) {
      EXPECT_EQ(certificate.verdict, Verdict::proved) << certificate.claim << " " << certificate.witness;
    }
  }
}

TEST(AdaptiveTemperature, ThePublishedQuarticHasItsPublishedFacts) {
  for (const auto& certificate : certify_quartic()) {
    EXPECT_EQ(certificate.verdict, Verdict::proved) << certificate.claim << " " << certificate.witness;
  }
}

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

TEST(AdaptiveTemperature, APortWithAscendingCoefficientsIsAnotherFunction) {
  constexpr QuarticThousandths ascending{-37, 481, -2300, 4917, -1791};
  const auto value = [&](const char* entropy) { return quartic(Enclosure::decimal(entropy), ascending); };
  EXPECT_EQ(less(value("0.9185"), Enclosure(1)), Decision::proved);
  EXPECT_EQ(less(Enclosure(1), value("0.9186")), Decision::proved);
  EXPECT_EQ(less(Enclosure(1), value("2.1470")), Decision::proved);
  EXPECT_EQ(less(value("2.1471"), Enclosure(1)), Decision::proved);
  EXPECT_EQ(numerics::worst(certify_quartic(ascending)), Verdict::violated);
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
