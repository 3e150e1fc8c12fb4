#include "theory/theorem_2_2.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace softcheck::theory {
namespace {

using numerics::Enclosure;
using numerics::Verdict;

SmallTransformerShape deep_shape(AttentionMask mask) {
  SmallTransformerShape shape;
  shape.seed = 7;
  shape.vocabulary = 4;
  shape.width = 3;
  shape.heads = 2;
  shape.depth = 3;
  shape.mask = mask;
  shape.theta = 2;
  shape.weight_scale = 0.25;
  return shape;
}

TEST(Theorem22, TheSmallestLengthIsExactWhereTheLengthItselfIsAnInteger) {
  // Spread 0: the coefficient is 1/n, below 1/4 from n = 5 on.
  EXPECT_EQ(as_integer(smallest_dispersed_length(0, 1, 0.25)), 5U);
  EXPECT_EQ(as_integer(smallest_dispersed_length(0, 3, 0x1p-53)), (std::uint64_t{1} << 53) + 1);
  // 1 + e^5 = 149.41...: below 1/2 from n = 150 on.
  EXPECT_EQ(as_integer(smallest_dispersed_length(5, 1, 0.5)), 150U);
  EXPECT_EQ(as_integer(smallest_dispersed_length(2.5, 0.5, 0.5)), 150U);
}

TEST(Theorem22, ALengthBeyondEveryIntegerIsStillAPoint) {
  const Enclosure length = smallest_dispersed_length(240, 1, 0x1p-53);
  EXPECT_TRUE(length.is_point());
  EXPECT_FALSE(as_integer(length).has_value());
  EXPECT_THROW(smallest_dispersed_length(241, 1, 0.5), std::invalid_argument);
  EXPECT_THROW(smallest_dispersed_length(1, 1, 1), std::invalid_argument);
  EXPECT_THROW(smallest_dispersed_length(-1, 1, 0.5), std::invalid_argument);
  EXPECT_THROW(smallest_dispersed_length(1, 0, 0.5), std::invalid_argument);
}

TEST(Theorem22, TheLogarithmOfTheLengthIsThatOfThePaper) {
  const numerics::PrecisionScope scope(113);
  const Enclosure d(3.5), t(0.5), e(0.125);
  EXPECT_TRUE(log(dispersion_length_paper(d, t, e)).overlaps(log_dispersion_length(d, t, e)));
  EXPECT_EQ(dispersion_length_paper(0.0, 1.0, 0.25), 4.0);
  EXPECT_EQ(dispersion_length_sharp(0.0, 1.0, 0.25), 4.0);
}

TEST(Theorem22, ASpreadOfOneHeadOverItsEmbeddingsIsAttainedInOneDimension) {
  SmallTransformerShape shape;
  shape.vocabulary = 2;
  shape.width = 1;
  shape.feedforward = false;
  const auto model = small_transformer(shape);
  TraceLadder trace(model, {{0, 3}, {1, 2}});
  const auto certificates = certify_spreads(trace, bound_spreads(model));
  ASSERT_EQ(certificates.size(), 1U);
  EXPECT_EQ(certificates[0].verdict, Verdict::proved);
  EXPECT_EQ(certificates[0].slack, 1);
}

TEST(Theorem22, EveryHeadOfADeepNetworkDispersesAtItsLength) {
  for (AttentionMask mask : {AttentionMask::bert, AttentionMask::gpt}) {
    const auto model = small_transformer(deep_shape(mask));
    const auto certificates = check_theorem_2_2(model, {{0, 2}, {1, 1}, {3, 2}, {2, 4}}, 0x1p-10);
    int asked = 0;
    for (const auto& certificate : certificates) {
      EXPECT_EQ(certificate.verdict, Verdict::proved) << certificate.claim << " " << certificate.witness;
      // Not vacuous: some token sees more than n0 items.
      if (certificate.claim == "theorem_2_2.disperses") {
        EXPECT_TRUE(certificate.left.certainly_positive());
        ++asked;
      }
    }
    EXPECT_EQ(asked, 6);
  }
}

TEST(Theorem22, ALongSequenceKeepsItsProportions) {
  const auto model = small_transformer(deep_shape(AttentionMask::bert));
  const auto runs = lengthened(model, {{0, 2}, {1, 1}}, 30, 0.5);
  EXPECT_EQ(runs[0].count, 2 * runs[1].count);
  EXPECT_GT(runs[0].count, 2 * std::exp(15.0));
  EXPECT_THROW(lengthened(model, {{0, 1}}, 2000, 0.5), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::theory
