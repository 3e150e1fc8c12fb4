#include "theory/norm_ellipsoid.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "proptests/tests/theory/hard_rows.hpp"
#include "theory/rotary_positions.hpp"
#include "theory/theorem_2_2.hpp"

namespace softcheck::theory {
namespace {

using numerics::Certificate;
using numerics::Enclosure;
using numerics::Verdict;

// q = z + (1, 0), k = x + (0, 3), |z|^2 <= 4, |x|^2 <= 9: u = (3, 0) at best.
BallHead identity_head() {
  BallHead head;
  QueryAndItems& at = head.at;
  at.query = at.key = Eigen::MatrixXd::Identity(2, 2);
  at.query_bias = Eigen::Vector2d(1, 0);
  at.key_bias = Eigen::Vector2d(0, 3);
  at.y = Eigen::Vector2d(2, 0);
  at.items.resize(2, 2);
  at.items << 3, 0, -3, 0;
  head.scale = 0.5;
  head.query_square = 4;
  head.key_square = 9;
  return head;
}

TEST(NormEllipsoid, LayerNormAndRmsNormGiveTheVectorsOfTheirDefinitions) {
  const std::vector<double> h{1, 2, 3, 6};
  // mean 3, deviations -2 -1 0 3, variance 14/4; mean square 50/4.
  const auto layer = normalise(Norm::layer_norm, h, 0.5);
  EXPECT_EQ(layer.direction, (std::vector<double>{-8, -4, 0, 12}));
  EXPECT_DOUBLE_EQ(layer.factor, 1 / (4 * 2.0));
  EXPECT_DOUBLE_EQ(layer.kept, 3.5 / 4);
  const auto rms = normalise(Norm::rms_norm, h, 12.5);
  EXPECT_EQ(rms.direction, h);
  EXPECT_DOUBLE_EQ(rms.factor, 1 / 5.0);
  EXPECT_DOUBLE_EQ(rms.lost, 0.5);
}

TEST(NormEllipsoid, VectorsOfEveryMagnitudeEndInTheBall) {
  constexpr double most = std::numeric_limits<double>::max(), least = std::numeric_limits<double>::denorm_min();
  for (const std::vector<double>& h :
       {std::vector<double>{0}, {most}, {most, most, most}, {most, -most, least}, {least, 0, 0}, {1, 1 + 0x1p-52}}) {
    for (const double epsilon : {1e-12, 1.0, least, most}) {
      for (const Norm norm : {Norm::layer_norm, Norm::rms_norm}) expect_proved(certify_norm(norm, h, epsilon));
    }
  }
}

TEST(NormEllipsoid, FormsOfTheIdentityHeadAreAttained) {
  // 2 * 0.5 * 3 * 3 = 9: every form is the spread itself, since the bias lies along the query.
  const BallHead head = identity_head();
  for (const Certificate& certificate : certify_folded_forms(head)) {
    EXPECT_EQ(certificate.verdict, Verdict::proved) << certificate.claim;
    EXPECT_TRUE(certificate.left.contains(9.0) && certificate.right.contains(9.0)) << certificate.claim;
  }
  expect_proved(certify_ball_ordering(head));
  expect_proved({certify_spread_attained(head)});
  const Certificate best = certify_ellipsoid_spread(head, 2).front();
  EXPECT_EQ(best.verdict, Verdict::proved);
  // t = sqrt(rq) sigma(M) / |c| = 2 is the best: lambda exceeds 9 by what sigma is rounded up.
  EXPECT_LT(best.right.upper_double(), 9 * (1 + 1e-12));
  EXPECT_GT(certify_ellipsoid_spread(head, 0.5).front().right.lower_double(), 11);
}

TEST(NormEllipsoid, TheBoundOfANormedHeadIsTheBestOne) {
  // RMSNorm of two numbers, gain (2, 1), q = z' + (1, 0), k = z': 2 max |z'| |q| = 2 sqrt(2) 2 (sqrt(2) 2 + 1).
  NormedHead head;
  head.norm = Norm::rms_norm;
  head.gain = Eigen::Vector2d(2, 1);
  head.shift = Eigen::Vector2d::Zero();
  head.query = head.key = Eigen::Matrix2d::Identity();
  head.query_bias = Eigen::Vector2d(1, 0);
  head.key_bias = Eigen::Vector2d(5, 7);
  const double best = 4 * std::sqrt(2.0) * (2 * std::sqrt(2.0) + 1);
  EXPECT_NEAR(normalised_spread(head), best, 1e-12 * best);
  // LayerNorm of two numbers is +-(1, -1) at most: q = (3, -1), and k = +-(2, -1).
  head.norm = Norm::layer_norm;
  EXPECT_NEAR(normalised_spread(head), 14, 1e-12 * 14);
}

TEST(NormEllipsoid, ANormedHeadIsCertifiedForASpreadAndAnEpsilonThatMakeSense) {
  NormedHead head;
  head.norm = Norm::rms_norm;
  head.gain = Eigen::Vector2d(2, 1);
  head.shift = head.query_bias = head.key_bias = Eigen::Vector2d::Zero();
  head.query = head.key = Eigen::Matrix2d::Identity();
  const Eigen::Vector2d query(1, 2);
  const Eigen::MatrixXd inputs = Eigen::MatrixXd::Identity(2, 2);
  const double spread = normalised_spread(head);
  expect_proved(certify_normalised(head, query, inputs, spread, 0.25));
  for (const double epsilon : {0.0, 1.0, 1.5, -1.0}) {
    EXPECT_THROW(certify_normalised(head, query, inputs, spread, epsilon), std::invalid_argument) << epsilon;
  }
  EXPECT_THROW(certify_normalised(head, query, inputs, -1, 0.25), std::invalid_argument);
  EXPECT_THROW(certify_normalised(head, query, Eigen::MatrixXd(0, 2), spread, 0.25), std::invalid_argument);
}

TEST(NormEllipsoid, AHeadWithoutQueryBiasNeedsNoT) {
  BallHead head = identity_head();
  head.at.query_bias.setZero();
  for (const double t : {0x1p-30, 1.0, 0x1p30}) {
    EXPECT_LT(certify_ellipsoid_spread(head, t).front().right.upper_double(), 6 * (1 + 1e-12)) << t;
  }
}

TEST(NormEllipsoid, ALogitMayExceedHalfTheSpreadByItsKeyBias) {
  BallHead head = identity_head();
  head.at.key_bias = Eigen::Vector2d(3, 0);
  expect_proved(certify_ellipsoid_logit(head, 1));
  // u . b = 9 and |B^T u| sqrt(rk) = 9: the logit 9, twice what a spread of 9 allows a centred one.
  EXPECT_TRUE(certify_ellipsoid_logit(head, 1).front().left.contains(9.0));
}

TEST(NormEllipsoid, AnUnderestimatedSingularValueIsRejected) {
  const auto below = [](const Eigen::MatrixXd& matrix) { return matrix.col(0).norm() / 4; };
  for (const Certificate& certificate : certify_folded_forms(identity_head(), below)) {
    EXPECT_EQ(certificate.verdict, Verdict::violated) << certificate.claim;
  }
  for (const Certificate& certificate : certify_ellipsoid_spread(identity_head(), 0.5, below)) {
    EXPECT_EQ(certificate.verdict, Verdict::violated) << certificate.witness;
  }
}

TEST(NormEllipsoid, RefusesWhatIsOutsideItsBallAndWhatDoesNotFit) {
  BallHead head = identity_head();
  head.query_square = 3.99;
  EXPECT_THROW(certify_folded_forms(head), std::invalid_argument);
  head = identity_head();
  head.key_square = 8.99;
  EXPECT_THROW(certify_spread_attained(head), std::invalid_argument);
  head = identity_head();
  head.scale = 0;
  EXPECT_THROW(certify_ball_ordering(head), std::invalid_argument);
  head = identity_head();
  for (const double t : {0.0, -1.0, std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(certify_ellipsoid_spread(head, t), std::invalid_argument) << t;
  }
  const AffineBall ball = head.query_ball();
  EXPECT_THROW(largest_square(ball, {Eigen::MatrixXd::Identity(3, 3), std::vector<Enclosure>(3)}, 1),
               std::invalid_argument);
  EXPECT_THROW(certify_norm(Norm::layer_norm, {}, 1), std::invalid_argument);
  const std::vector<double> h{1, std::numeric_limits<double>::infinity()};
  EXPECT_THROW(certify_norm(Norm::rms_norm, h, 1), std::invalid_argument);
  EXPECT_THROW(certify_norm(Norm::rms_norm, std::span(h).first(1), 0), std::invalid_argument);
}

TurnsOfItem quarter_turns(std::size_t planes) {
  return [planes](std::size_t) { return std::vector<Turn<Enclosure>>(planes, {Enclosure(0), Enclosure(1)}); };
}

// q = 2 (1, 0), k = +-3 (0, -1): a quarter turn brings them together.
RotaryHead turned_head() {
  RotaryHead rotary;
  QueryAndItems& at = rotary.head.at;
  at.query = at.key = Eigen::MatrixXd::Identity(2, 2);
  at.query_bias = at.key_bias = Eigen::VectorXd::Zero(2);
  at.y = Eigen::Vector2d(2, 0);
  at.items.resize(2, 2);
  at.items << 0, -3, 0, 3;
  rotary.head.scale = 1;
  rotary.head.query_square = 4;
  rotary.head.key_square = 9;
  rotary.planes = half_split_planes(2, 2);
  rotary.turns = quarter_turns(1);
  rotary.weights = {1};
  return rotary;
}

TEST(RotaryPositions, PlanesAreHalfSplitOrInterleavedWithTheOthersBehind) {
  const auto text = [](const std::vector<Plane>& planes) {
    std::string result;
    for (const Plane& plane : planes) result += std::to_string(plane.first) + std::to_string(plane.second) + " ";
    return result;
  };
  EXPECT_EQ(text(half_split_planes(7, 4)), "02 13 44 55 66 ");
  EXPECT_EQ(text(interleaved_planes(7, 4)), "01 23 44 55 66 ");
  EXPECT_EQ(text(half_split_planes(2, 0)), "00 11 ");
  EXPECT_THROW(half_split_planes(7, 3), std::invalid_argument);
  EXPECT_THROW(interleaved_planes(4, 6), std::invalid_argument);
}

TEST(RotaryPositions, AQuarterTurnMovesTheFirstCoordinateToTheSecond) {
  const std::vector<Turn<double>> turns{{0, 1}, {1, 0}};
  const auto x = rotate<double>(half_split_planes(3, 2), turns, {5, 7, 9});
  EXPECT_EQ(x, (std::vector<double>{-7, 5, 9}));
}

TEST(RotaryPositions, LogitAndSpreadAreAttainedAQuarterTurnAway) {
  for (const Certificate& certificate : certify_rotary_logit(turned_head(), 1)) {
    EXPECT_EQ(certificate.verdict, Verdict::proved) << certificate.witness;
    EXPECT_TRUE(certificate.left.contains(6.0) && certificate.right.contains(6.0)) << certificate.witness;
  }
  for (const Certificate& certificate : certify_rotary_spread(turned_head(), 1)) {
    EXPECT_EQ(certificate.verdict, Verdict::proved) << certificate.witness;
    EXPECT_TRUE(certificate.left.contains(12.0) && certificate.right.contains(12.0)) << certificate.witness;
  }
}

TEST(RotaryPositions, EveryWeightBoundsAndWeightsThatBalanceBoundBest) {
  // Plane 0 has long queries and short keys, plane 1 the reverse.
  RotaryHead rotary = turned_head();
  QueryAndItems& at = rotary.head.at;
  at.query = Eigen::Vector2d(16, 1).asDiagonal();
  at.key = Eigen::Vector2d(1, 16).asDiagonal();
  rotary.planes = half_split_planes(2, 0);
  rotary.turns = [](std::size_t) { return std::vector<Turn<Enclosure>>(2, {Enclosure(1), Enclosure(0)}); };
  const auto bound = [&](const std::vector<double>& weights) {
    rotary.weights = weights;
    const Certificate certificate = certify_rotary_logit(rotary, 1).back();
    EXPECT_EQ(certificate.verdict, Verdict::proved);
    return certificate.right.upper_double();
  };
  EXPECT_NEAR(bound({1, 1}), 6 * 256, 1e-9);
  EXPECT_NEAR(bound({256, 1}), 6 * 16, 1e-9 * 6 * 16);
  EXPECT_NEAR(bound({16, 0.0625}), 6 * 16, 1e-9 * 6 * 16);
}

TEST(RotaryPositions, GainsCountByPlaneWherePositionsTurnAndByCoordinateWhereNot) {
  const std::vector<double> query{3, 1}, key{1, -5};
  const std::vector<Plane> turned = half_split_planes(2, 2), still = half_split_planes(2, 0);
  EXPECT_EQ(largest_plane_gain<double>(turned, query, key), 15);
  EXPECT_EQ(largest_plane_gain<double>(still, query, key), 5);
  const QkNormHead head{query, key, {2, 0}, {{0, 1}}, 0.5, 4, 1, turned, quarter_turns(1)};
  const Certificate certificate = certify_qk_norm(head);
  EXPECT_EQ(certificate.verdict, Verdict::proved);
  EXPECT_TRUE(certificate.left.contains(15.0) && certificate.right.contains(15.0));
}

TEST(RotaryPositions, RefusesPlanesAndWeightsThatDoNotFit) {
  RotaryHead rotary = turned_head();
  rotary.weights = {0};
  EXPECT_THROW(certify_rotary_logit(rotary, 1), std::invalid_argument);
  rotary = turned_head();
  rotary.planes = {{0, 2}};
  EXPECT_THROW(certify_isometry(rotary), std::invalid_argument);
  rotary.planes = {{0, 0}};
  EXPECT_THROW(certify_isometry(rotary), std::invalid_argument);
  rotary.planes = {{0, 1}, {1, 1}};
  EXPECT_THROW(certify_isometry(rotary), std::invalid_argument);
  QkNormHead head{{1}, {1}, {2}, {{1}}, 1, 3.9, 1, {{0, 0}}, quarter_turns(1)};
  EXPECT_THROW(certify_qk_norm(head), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::theory
