#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "proptests/tests/theory/hard_rows.hpp"
#include "theory/corollary_b_1.hpp"
#include "theory/differential_attention.hpp"
#include "theory/remark_b_2.hpp"
#include "theory/remark_c_1.hpp"
#include "theory/theorem_2_2.hpp"

namespace softcheck::theory {
namespace {

using numerics::Enclosure;
using numerics::Format;
using numerics::Verdict;

TEST(CorollaryB1, KnownLengths) {
  // Equal logits: 1/n < 2^-24 from 2^24 + 1 on, 1/n < 2^-8 from 257 on.
  EXPECT_EQ(as_integer(smallest_vanishing_length({Format::f32, 0, 1, 1, 0})), 16777217U);
  EXPECT_EQ(as_integer(smallest_vanishing_length({Format::bf16, 0, 1, 1, 0})), 257U);
  // |f(a) - f(b)| = 1, ulp(1) = 2^-7 in bf16: 1/n < 2^-9 from 513 on.
  EXPECT_EQ(as_integer(smallest_collapsing_length({Format::bf16, 0, 1, 2, 1})), 513U);
}

// The other route: round both ends of the exact output by bits.
bool rounds_to_other(const CollapseCase& input, std::uint64_t n) {
  const numerics::PrecisionScope scope(113);
  const Enclosure alpha = leading_coefficient(Enclosure::integer(n), Enclosure(input.spread), Enclosure(input.theta));
  const Enclosure output = alpha * Enclosure(input.first) + (Enclosure(1) - alpha) * Enclosure(input.other);
  return numerics::round_to(input.format, output.lower_double()) == input.other &&
         numerics::round_to(input.format, output.upper_double()) == input.other;
}

TEST(CorollaryB1, FromItsLengthOnTheFormatReturnsTheOtherValue) {
  // At a power of two the spacing below is half: towards zero a quarter of ulp is needed, away from it half would do.
  for (const CollapseCase& input :
       {CollapseCase{Format::bf16, 3, 1, 0.5, 1}, CollapseCase{Format::bf16, 3, 1, 2, 1},
        CollapseCase{Format::f16, 1.25, 0.5, -3, 1.5}, CollapseCase{Format::f16, 2, 1, 1, 0x1p-14},
        CollapseCase{Format::e4m3, 1, 1, -448, 448}, CollapseCase{Format::e4m3, 4, 1, 1, -1}}) {
    const auto n = as_integer(smallest_collapsing_length(input));
    ASSERT_TRUE(n.has_value());
    for (std::uint64_t further = 0; further < 100; ++further) EXPECT_TRUE(rounds_to_other(input, *n + further));
  }
  // Towards zero from a power of two it is the smallest up to a tie, which rounds to the even 1.
  const CollapseCase towards_zero{Format::bf16, 3, 1, 0.5, 1};
  EXPECT_FALSE(rounds_to_other(towards_zero, *as_integer(smallest_collapsing_length(towards_zero)) - 1));
}

TEST(CorollaryB1, EveryFormatErrsOnItsConcreteInput) {
  for (Format format : numerics::all_formats()) expect_proved(check_corollary_b_1({format, 2.5, 1, 1.5, 1}));
}

TEST(CorollaryB1, NumbersFurtherApartThanAnyPrecisionAreDecided) {
  // |f(a) - f(b)| = 1 - 2^-1022 has 1022 bits; towards zero from a power of two it is all but a tie.
  expect_proved(check_corollary_b_1({Format::f64, 0, 1, 0x1p-1022, 1}));
}

TEST(CorollaryB1, RefusesWhatIsNoCase) {
  EXPECT_THROW(check_corollary_b_1({Format::f16, 1, 1, 1, 1}), std::invalid_argument);
  EXPECT_THROW(check_corollary_b_1({Format::f16, 1, 1, 0.1, 1}), std::invalid_argument);
  EXPECT_THROW(check_corollary_b_1({Format::f16, 1, 0, 2, 1}), std::invalid_argument);
  EXPECT_THROW(check_corollary_b_1({Format::f16, 201, 1, 2, 1}), std::invalid_argument);
  EXPECT_THROW(smallest_collapsing_length({Format::f64, 1, 1, 1, 0}), std::invalid_argument);
}

TEST(CorollaryB1, TheConcreteRowIsOneLogitAboveAllOthers) {
  EXPECT_EQ(collapse_row(2.5, 3), (std::vector<double>{2.5, 0, 0}));
  EXPECT_TRUE(collapse_row(2.5, 0).empty());
}

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
  expect_proved(certificates);
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

SmallTransformerShape shape_with(AttentionMask mask, bool residual) {
  SmallTransformerShape shape = small_shape(5, mask, residual);
  shape.theta = 8;
  shape.weight_scale = 0.5;
  return shape;
}

const std::vector<Run> sequence{{0, 2}, {1, 1}, {2, 3}};

TEST(RemarkC1, HoldsForBothMasksWithAndWithoutResiduals) {
  for (AttentionMask mask : {AttentionMask::bert, AttentionMask::gpt}) {
    for (bool residual : {false, true})
      expect_proved(check_remark_c_1(small_transformer(shape_with(mask, residual)), sequence));
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

// Four equal logits: every coefficient is (1 - lambda) / 4, which is exact here.
TEST(DifferentialAttention, SidesOfEqualLogitsAreTheirExactValues) {
  const LevelRow row(std::vector<Level>{{0.5, 4}});
  const auto is = [](const numerics::Enclosure& found, double exact) {
    return found.lower_double() == exact && found.upper_double() == exact;
  };
  const auto share = certify_differential_share(row, 0.5).at(0);
  EXPECT_TRUE(is(share.left, 0.25) && is(share.right, 0.75));
  for (const auto& one : certify_differential_bounds(row, row, 0.5)) {
    EXPECT_TRUE(is(one.left, 0.125) && is(one.right, 0.125));
    EXPECT_EQ(one.verdict, numerics::Verdict::proved);
  }
  EXPECT_TRUE(is(certify_differential_half(3, 1).at(0).right, 0.5));
  EXPECT_THROW(certify_differential_share(row, 1), std::invalid_argument);
  EXPECT_THROW(certify_differential_bounds(row, LevelRow(std::vector<Level>{{0, 3}}), 1), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::theory
