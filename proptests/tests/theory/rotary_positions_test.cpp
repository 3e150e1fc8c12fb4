#include "theory/rotary_positions.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace softcheck::theory {
namespace {

using numerics::Certificate;
using numerics::Enclosure;
using numerics::Verdict;

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
