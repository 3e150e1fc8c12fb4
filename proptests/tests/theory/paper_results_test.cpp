#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "proptests/tests/theory/hard_rows.hpp"
#include "theory/lemma_2_1.hpp"
#include "theory/proposition_3_1.hpp"
#include "theory/proposition_3_2.hpp"
#include "theory/tempered_row.hpp"
#include "theory/theorem_2_2.hpp"

namespace softcheck::theory {
namespace {

using numerics::Decision;
using numerics::Enclosure;
using numerics::Verdict;

TEST(Lemma21, EveryHardRowIsDecided) {
  for (const auto& [logits, theta] : hard_rows()) expect_proved(certify_lemma_2_1(logits, theta));
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

QueryAndItems opposite_items() {
  QueryAndItems input;
  input.query = Eigen::MatrixXd::Identity(2, 2);
  input.key = Eigen::MatrixXd::Identity(2, 2);
  input.query_bias = Eigen::VectorXd::Zero(2);
  input.key_bias = Eigen::VectorXd::Ones(2);
  input.y = Eigen::Vector2d(1, 0);
  input.items.resize(2, 2);
  input.items << 1, 0, -1, 0;
  return input;
}

TEST(Proposition31, EveryFormIsAttainedByOppositeItemsAlongTheQuery) {
  for (const auto& certificate : check_proposition_3_1(opposite_items())) {
    EXPECT_EQ(certificate.verdict, Verdict::proved) << certificate.claim;
    // Sides with a factor 1/sqrt(2) are narrow intervals: their quotient is 1 up to its own rounding.
    EXPECT_GE(certificate.slack, 1) << certificate.claim;
  }
}

TEST(Proposition31, TheKeyBiasCancels) {
  QueryAndItems input = opposite_items();
  const SpreadEvaluation with(input);
  input.key_bias.setZero();
  const SpreadEvaluation without(input);
  EXPECT_TRUE(with.observed().biased.contains(without.observed().biased));
  EXPECT_TRUE(with.observed().biased.contains(2.0));
}

TEST(Proposition31, TheScaledSpreadIsThatOfLogitsOverTheRootOfTheWidth) {
  const SpreadEvaluation evaluation(opposite_items());
  EXPECT_TRUE(square(evaluation.observed_scaled()).contains(2.0)) << "2 / sqrt(2), squared";
}

TEST(Proposition31, TiesWithIrrationalLengthsAreDecided) {
  // ||y|| = sqrt(2), b_Q parallel to y, x = +-y: every form is attained and no length is rational.
  QueryAndItems input = opposite_items();
  input.y = Eigen::Vector2d(1, 1);
  input.query_bias = Eigen::Vector2d(0.5, 0.5);
  input.items << 1, 1, -1, -1;
  expect_proved(check_proposition_3_1(input));
  // A Hadamard key: sigma = sqrt(2) is no double, its upper end is above it.
  input.key << 1, 1, 1, -1;
  expect_proved(check_proposition_3_1(input));
}

TEST(Proposition31, EverythingZeroIsATie) {
  QueryAndItems input = opposite_items();
  input.query.setZero();
  expect_proved(check_proposition_3_1(input));
  input.items.setZero();
  expect_proved(check_proposition_3_1(input));
}

TEST(Proposition31, AnUnderestimatedSingularValueIsRejected) {
  const auto below = [](const Eigen::MatrixXd& matrix) { return matrix.col(0).norm() / 2; };
  for (const auto& certificate : certify_spread_forms(SpreadEvaluation(opposite_items(), below))) {
    if (certificate.claim == "proposition_3_1.direct") continue;  // needs no singular value
    EXPECT_EQ(certificate.verdict, Verdict::violated) << certificate.claim;
  }
}

TEST(Proposition31, RefusesShapesThatDoNotFit) {
  QueryAndItems input = opposite_items();
  input.y = Eigen::Vector3d(1, 0, 0);
  EXPECT_THROW(SpreadEvaluation{input}, std::invalid_argument);
  input = opposite_items();
  input.items.resize(0, 2);
  EXPECT_THROW(SpreadEvaluation{input}, std::invalid_argument);
}

TEST(Proposition32, EveryHardRowIsDecided) {
  for (const auto& [logits, theta] : hard_rows()) {
    const LevelRow row(logits);
    const double beta = 1 / theta, next = std::nextafter(beta, std::numeric_limits<double>::infinity());
    std::vector<numerics::Certificate> all = certify_monotone_entropy(row, 0, beta);
    for (auto& more : {certify_monotone_entropy(row, beta, next), certify_monotone_entropy(row, -next, -beta),
                       certify_derivatives(row, 0), certify_derivatives(row, 5.5), certify_derivatives(row, -16)}) {
      all.insert(all.end(), more.begin(), more.end());
    }
    expect_proved(all);
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
