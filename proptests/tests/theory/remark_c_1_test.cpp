#include "theory/remark_c_1.hpp"

#include <gtest/gtest.h>

namespace softcheck::theory {
namespace {

using numerics::Enclosure;
using numerics::Verdict;

SmallTransformerShape shape_with(AttentionMask mask, bool residual) {
  SmallTransformerShape shape;
  shape.seed = 5;
  shape.vocabulary = 3;
  shape.width = 2;
  shape.heads = 2;
  shape.depth = 3;
  shape.mask = mask;
  shape.residual = residual;
  shape.theta = 8;
  shape.weight_scale = 0.5;
  return shape;
}

const std::vector<Run> sequence{{0, 2}, {1, 1}, {2, 3}};

TEST(RemarkC1, HoldsForBothMasksWithAndWithoutResiduals) {
  for (AttentionMask mask : {AttentionMask::bert, AttentionMask::gpt}) {
    for (bool residual : {false, true}) {
      for (const auto& certificate : check_remark_c_1(small_transformer(shape_with(mask, residual)), sequence)) {
        EXPECT_EQ(certificate.verdict, Verdict::proved) << certificate.claim << " " << certificate.witness;
      }
    }
  }
}

TEST(RemarkC1, OnlyResidualFreeBertNetworksLoseEverySpread) {
  const auto count = [](AttentionMask mask, bool residual) {
    const auto model = small_transformer(shape_with(mask, residual));
    TraceLadder trace(model, sequence);
    return certify_later_spread(trace).size();
  };
  EXPECT_EQ(count(AttentionMask::bert, false), 4U);  // two later layers of two heads
  EXPECT_EQ(count(AttentionMask::bert, true), 0U);
  EXPECT_EQ(count(AttentionMask::gpt, false), 0U);
}

TEST(RemarkC1, TheBoundIsThePapersWhereLengthsAgreeAndTheMeansWhereCoefficientsDo) {
  const numerics::PrecisionScope scope(113);
  const Enclosure d(0.5);
  // k = 4: (e^d - e^-d) k where i = k, 2 (1 - 1/4) k where d = 0.
  EXPECT_TRUE(scaled_row_disagreement(d, Enclosure(4), Enclosure(4)).overlaps(Enclosure(4) * (exp(d) - exp(-d))));
  EXPECT_TRUE(scaled_row_disagreement(Enclosure(0), Enclosure(1), Enclosure(4)).contains(6.0));
  EXPECT_EQ(scaled_row_disagreement(0.0, 7.0, 7.0), 0.0);
}

TEST(RemarkC1, TwoMeansOfOppositeValuesAttainTheGptBound) {
  // Width 1, embeddings x and -x: row 1 gives v, row 2 gives 0, and 2 (1 - 1/2) B = |v|.
  SmallTransformerShape shape = shape_with(AttentionMask::gpt, false);
  shape.width = 1;
  shape.heads = 1;
  auto model = small_transformer(shape);
  model.embeddings(0, 0) = 0.5;
  model.embeddings(1, 0) = -0.5;
  TraceLadder trace(model, {{0, 1}, {1, 1}});
  const auto certificates = certify_fully_dispersed(trace);
  ASSERT_EQ(certificates.size(), 1U);
  EXPECT_EQ(certificates[0].verdict, Verdict::proved);
  EXPECT_EQ(certificates[0].slack, 1);
}

}  // namespace
}  // namespace softcheck::theory
