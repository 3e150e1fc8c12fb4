#include "theory/remark_b_2.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>

namespace softcheck::theory {
namespace {

using numerics::Verdict;

SmallTransformerShape shape_with(AttentionMask mask) {
  SmallTransformerShape shape;
  shape.seed = 3;
  shape.vocabulary = 3;
  shape.width = 2;
  shape.depth = 2;
  shape.mask = mask;
  shape.weight_scale = 0.5;
  return shape;
}

void expect_some_proved(const std::vector<numerics::Certificate>& certificates) {
  ASSERT_FALSE(certificates.empty());
  for (const auto& certificate : certificates) {
    EXPECT_EQ(certificate.verdict, Verdict::proved) << certificate.claim << " " << certificate.witness;
  }
}

TEST(RemarkB2, TheBoundHoldsOnAConcreteBertNetwork) {
  const auto model = small_transformer(shape_with(AttentionMask::bert));
  for (double others : {1.0, 1000.0, 0x1p52}) {
    const ForgettingBounds bounds(model, 0, 2);
    expect_some_proved(certify_bert_forgets(bounds, others, bounds.bert_constants()));
  }
}

TEST(RemarkB2, AGptNetworkForgetsItsFirstToken) {
  const auto model = small_transformer(shape_with(AttentionMask::gpt));
  expect_some_proved(check_remark_b_2(model, 1, 0, 40, 0x1p-24));
}

TEST(RemarkB2, TheBoundOfTheFirstGptTokenNeverVanishes) {
  const auto model = small_transformer(shape_with(AttentionMask::gpt));
  const numerics::PrecisionScope scope(64);
  const auto distances = ForgettingBounds(model, 0, 1).gpt_distances(4096);
  // Behind the last layer the last token has forgotten more than the first ever will.
  EXPECT_TRUE((distances.back().front() - distances.back().back()).certainly_positive());
}

TEST(RemarkB2, NoTokensHaveNoDistances) {
  const auto model = small_transformer(shape_with(AttentionMask::gpt));
  for (const auto& layer : ForgettingBounds(model, 0, 1).gpt_distances(0)) EXPECT_TRUE(layer.empty());
}

TEST(RemarkB2, RefusesSymbolsItDoesNotKnow) {
  const auto model = small_transformer(shape_with(AttentionMask::bert));
  EXPECT_THROW(ForgettingBounds(model, 0, 3), std::invalid_argument);
  EXPECT_THROW(certify_bert_forgets(ForgettingBounds(model, 1, 1), 4, {}), std::invalid_argument);
  EXPECT_THROW(certify_bert_forgets(ForgettingBounds(model, 0, 1), 0, {}), std::invalid_argument);
  EXPECT_THROW(ForgettingBounds(model, 0, 1).forgetting_length(0), std::invalid_argument);
}

// exp(600) is what its weights are still bounded by.
TEST(RemarkB2, SpreadsOfUpTo600TemperaturesAreBounded) {
  SmallTransformerShape shape = shape_with(AttentionMask::bert);
  shape.depth = 1;
  std::string message;
  const auto refused = [&](double theta) {
    shape.theta = theta;
    try {
      const ForgettingBounds bounds(small_transformer(shape), 0, 1);
      return false;
    } catch (const std::invalid_argument& error) {
      message = error.what();
      return true;
    }
  };
  double low = 0x1p-40, high = 1;
  ASSERT_TRUE(refused(low));
  ASSERT_FALSE(refused(high));
  for (int k = 0; k < 60; ++k) {
    const double middle = std::sqrt(low * high);
    (refused(middle) ? low : high) = middle;
  }
  ASSERT_TRUE(refused(low));
  // Neighbouring temperatures: the quotient is 600 up to its own last bits, and the text has six digits.
  EXPECT_EQ(message.substr(message.find("got ")), "got 600.000000");
}

TEST(RemarkB2, TheForgettingLengthIsNotSoughtWhereItsBoundStillGrows) {
  // (1 + ln n)^l / n falls from n = e^(l - 1) on: with five layers from 2^6, though every length keeps so wide a
  // tolerance.
  SmallTransformerShape shape = shape_with(AttentionMask::gpt);
  for (const auto& [depth, length] : {std::pair{1, 2.0}, {2, 4.0}, {3, 16.0}, {5, 128.0}}) {
    shape.depth = static_cast<std::size_t>(depth);
    const auto model = small_transformer(shape);
    const auto least = ForgettingBounds(model, 1, 0).forgetting_length(0x1p1000);
    EXPECT_TRUE(least.contains(length)) << depth << " " << least;
  }
  const auto bert = small_transformer(shape_with(AttentionMask::bert));
  EXPECT_TRUE(ForgettingBounds(bert, 0, 1).forgetting_length(0x1p1000).contains(1.0));
}

}  // namespace
}  // namespace softcheck::theory
