#include "theory/lemma_2_1.hpp"

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

TEST(Lemma21, EveryHardRowIsDecided) {
  for (const auto& [logits, theta] : hard_rows()) {
    for (const auto& certificate : certify_lemma_2_1(logits, theta)) {
      EXPECT_EQ(certificate.verdict, Verdict::proved) << certificate.claim << " " << certificate.witness;
    }
  }
}

TEST(Lemma21, AFullyMaskedRowHasNoClaims) {
  const std::vector<double> masked(3, -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(certify_lemma_2_1(masked, 1).empty());
  EXPECT_THROW(certify_lemma_2_1(std::vector<double>{0.0}, 0), std::invalid_argument);
}

TEST(Lemma21, EqualLogitsReachAllFourBounds) {
  for (const auto& certificate : certify_coefficient_bounds(LevelRow(std::vector<double>(7, 3.0)), 1)) {
    EXPECT_EQ(certificate.verdict, Verdict::proved);
    EXPECT_GE(certificate.slack, 1);
  }
}

// 1/(1 + 4 e^-2) by four operations, the exponential within 1 ulp = 2 u: 5 u to first order, and 6 u leave room for the
// rest as 5 u < 1/32 in every format here.
template <OrderedScalar T>
void expect_rounded(numerics::Format format) {
  const Enclosure exact = lemma_2_1_sharp_bounds(5, Enclosure(2)).upper;
  const Enclosure computed(static_cast<double>(lemma_2_1_sharp_bounds(5, T(2)).upper));
  const Enclosure allowed = 6 * Enclosure(numerics::properties(format).unit_roundoff) * exact;
  EXPECT_EQ(less_equal(abs(computed - exact), allowed), Decision::proved) << numerics::properties(format).name;
}

TEST(Lemma21, BoundsAreTheSameFormulaInEveryScalar) {
  expect_rounded<double>(numerics::Format::f64);
  expect_rounded<float>(numerics::Format::f32);
  expect_rounded<Half>(numerics::Format::f16);
  expect_rounded<BFloat16>(numerics::Format::bf16);
}

TEST(Lemma21, TheDispersionLengthIsTheSmallestOne) {
  // 1 + e^0 (1 - 1/2)/(1/2) = 2 exactly; the smallest spread above 0 needs one item more.
  EXPECT_EQ(*dispersion_length({1, 1}, 0.5).items, 2U);
  EXPECT_EQ(*dispersion_length({std::numeric_limits<double>::denorm_min(), 0}, 0.5).items, 3U);
  // 1 + 9 e^10 = 198239.2; 0.1 in double is a little above a tenth.
  EXPECT_EQ(*dispersion_length({10, 0}, 0.1).items, 198240U);
  EXPECT_EQ(*dispersion_length({5, 0, 0.5}, 0.1).items, 198240U);
}

TEST(Lemma21, TheClaimOfTheDispersionLengthIsAboutTheNextLengths) {
  // Of 198241 items, and of 198239.
  const std::vector<numerics::Certificate> claims = certify_dispersion_length({10, 0}, 0.1);
  ASSERT_EQ(claims.size(), 2U);
  EXPECT_TRUE(claims[0].left.overlaps(lemma_2_1_sharp_bounds(std::uint64_t{198241}, Enclosure(10)).upper));
  EXPECT_TRUE(claims[1].right.overlaps(lemma_2_1_sharp_bounds(std::uint64_t{198239}, Enclosure(10)).upper));
  EXPECT_TRUE(claims[0].right.contains(0.1));
  EXPECT_TRUE(claims[1].left.contains(0.1));
}

TEST(Lemma21, HugeDispersionLengthsAreLogarithms) {
  const DispersionLength length = dispersion_length({100, 0}, 0.5);
  EXPECT_FALSE(length.items);
  EXPECT_TRUE(length.log_items.contains(100.0) || length.log_items.lower_double() >= 100);
  EXPECT_THROW(dispersion_length({0, 1}, 0.5), std::invalid_argument);
  EXPECT_THROW(dispersion_length({1, 0}, 1), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::theory
