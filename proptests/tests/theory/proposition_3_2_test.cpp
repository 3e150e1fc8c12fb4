#include "theory/proposition_3_2.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "proptests/tests/theory/hard_rows.hpp"
#include "theory/tempered_row.hpp"

namespace softcheck::theory {
namespace {

using numerics::Decision;
using numerics::Enclosure;
using numerics::Verdict;

TEST(Proposition32, EveryHardRowIsDecided) {
  for (const auto& [logits, theta] : hard_rows()) {
    const LevelRow row(logits);
    const double beta = 1 / theta, next = std::nextafter(beta, std::numeric_limits<double>::infinity());
    std::vector<numerics::Certificate> all = certify_monotone_entropy(row, 0, beta);
    for (auto& more : {certify_monotone_entropy(row, beta, next), certify_monotone_entropy(row, -next, -beta),
                       certify_derivatives(row, 0), certify_derivatives(row, 5.5), certify_derivatives(row, -16)}) {
      all.insert(all.end(), more.begin(), more.end());
    }
    for (const auto& certificate : all) {
      EXPECT_EQ(certificate.verdict, Verdict::proved) << certificate.claim << " " << certificate.witness;
    }
  }
}

// Of two logits 1 apart the distance to the larger one has mean 1 / (1 + e^beta); beta is asked for in units of 1/2,
// and the step is 1/128.
TEST(Proposition32, TheDerivativesClaimIsAboutTheTemperatureAskedFor) {
  const LevelRow row(std::vector<double>{0, 1});
  for (const double beta : {0.0, 1.0, 5.5, -16.0}) {
    const numerics::Certificate claim = certify_derivatives(row, beta).at(1);
    const Enclosure mean = Enclosure(1) / (Enclosure(1) + exp(Enclosure(std::fabs(beta) / 2)));
    EXPECT_TRUE(claim.right.overlaps(mean / 128)) << beta << " " << claim.right.to_string();
    // Narrow enough to tell temperatures apart: means at two of them differ by 2^-10 and more.
    EXPECT_LT(claim.right.width(), 1e-20);
  }
}

TEST(Proposition32, EntropyIsNotMonotoneAcrossSigns) {
  const LevelRow row(std::vector<double>{0, 0, 1});
  const Enclosure positive = TemperedRow(row, Enclosure(10)).entropy();
  const Enclosure negative = TemperedRow(row.mirrored(), Enclosure(11)).entropy();
  EXPECT_EQ(less(positive, negative), Decision::proved);
  EXPECT_THROW(certify_monotone_entropy(row, 10, -11), std::invalid_argument);
}

TEST(Proposition32, EqualLogitsKeepTheirEntropy) {
  const auto all = certify_monotone_entropy(LevelRow(std::vector<double>(3, 2.0)), 1, 5);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].relation, numerics::Relation::equal);
  EXPECT_EQ(all[1].verdict, Verdict::proved);
}

TEST(Proposition32, MomentsOfTwoEqualHalves) {
  const auto moments = partition_moments(LevelRow(std::vector<double>{0, 2}), Enclosure(0));
  EXPECT_TRUE(moments.mean.contains(1.0));
  EXPECT_TRUE(moments.variance.contains(1.0));
  EXPECT_TRUE(entropy_derivative(Enclosure(0), moments).contains(0.0));
}

}  // namespace
}  // namespace softcheck::theory
