#include "theory/proposition_3_1.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace softcheck::theory {
namespace {

using numerics::Verdict;

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

void expect_proved(const QueryAndItems& input) {
  for (const auto& certificate : check_proposition_3_1(input)) {
    EXPECT_EQ(certificate.verdict, Verdict::proved) << certificate.claim << " " << certificate.witness;
  }
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
  expect_proved(input);
  // A Hadamard key: sigma = sqrt(2) is no double, its upper end is above it.
  input.key << 1, 1, 1, -1;
  expect_proved(input);
}

TEST(Proposition31, EverythingZeroIsATie) {
  QueryAndItems input = opposite_items();
  input.query.setZero();
  expect_proved(input);
  input.items.setZero();
  expect_proved(input);
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

}  // namespace
}  // namespace softcheck::theory
