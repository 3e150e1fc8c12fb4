// The linear algebra under the certificates, against long double.
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cmath>
#include <limits>

#include "models/bounds/plane_weights.hpp"
#include "numerics/matrices/lanczos.hpp"
#include "numerics/matrices/verified_cholesky.hpp"
#include "proptests/tests/models/bounds_heads.hpp"

namespace softcheck::proptests {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using models::AffineImage;
using models::LargestSquare;
using numerics::BallMatrix;
using LinearWide = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;

long double largest_of(const LinearWide& symmetric) {
  return Eigen::SelfAdjointEigenSolver<LinearWide>(symmetric).eigenvalues().tail(1)(0);
}

// Eigenvalues in long double are off by a few n 2^-64 of the largest: 2^-55 for n <= 40.
constexpr long double wide_room = 0x1p-55L;

TEST(BoundsLinear, EigenvaluesOfEveryMatrixOfTheBallLieBelowTheUpperEnd) {
  Drawing drawing(1);
  for (Index round = 0; round < 60; ++round) {
    const Index n = 1 + drawing.below(40), rank = 1 + drawing.below(n);
    const MatrixXd factor = drawing.matrix(n, rank);
    const double radius = round % 3 == 0 ? 0 : std::pow(10.0, -static_cast<double>(round % 12));
    BallMatrix ball = models::symmetrised(BallMatrix::exactly(factor * factor.transpose()));
    ball.radius = MatrixXd::Constant(n, n, radius) + ball.radius;
    const models::LargestEigenvalue found = models::largest_eigenvalue(ball);
    // The ball's matrix that is farthest up: every entry moved towards the top eigenvector's own.
    const VectorXd signs = found.vector.cwiseSign();
    const LinearWide up = ball.middle.cast<long double>() +
                          (signs * signs.transpose()).cast<long double>().cwiseProduct(ball.radius.cast<long double>());
    const LinearWide down = 2 * ball.middle.cast<long double>() - up;
    EXPECT_LE(largest_of(up) * (1 - wide_room), found.upper);
    // Semidefinite ones have none below 0.
    EXPECT_LE(found.lower, std::max(largest_of(down), 0.0L) * (1 + wide_room));
    EXPECT_LE(found.lower, found.upper);
    // A sum of n squares, its root and n quotients: n + 4 roundings of at most 40 + 4.
    EXPECT_NEAR(found.vector.norm(), 1, 44 * 0x1p-52);
    if (radius == 0) {
      // The first shift lies 2^-44 above the top; each that does not factor is followed by one 16 times as far, and n u
      // of a matrix of trace n makes no factorisation of 40 rows fail beyond 2^-40. Radii of n roundings an entry, in
      // the norm of Frobenius n times as much, are n^2 2^-52 < 2^-41.
      EXPECT_GE(found.lower, found.upper * (1 - 0x1p-38));
    }
  }
}

// The factorisation proves shift + residual, its own rounding included, and not the shift.
TEST(BoundsLinear, TheUpperEndHoldsTheFactorisationsResidual) {
  Drawing drawing(11);
  for (Index round = 0; round < 20; ++round) {
    const Index n = 2 + drawing.below(40);
    const MatrixXd factor = drawing.matrix(n, n);
    BallMatrix ball = models::symmetrised(BallMatrix::exactly(factor * factor.transpose()));
    ball.radius.setZero();
    const double upper = models::largest_eigenvalue(ball).upper;
    const double top = numerics::largest_ritz_pair(ball.middle).value;
    // What is certified is no less than what a factorisation at any shift below it proves.
    double share = 0x1p-44;
    while (!numerics::verified_cholesky(ball.middle, top * (1 + share) + 0x1p-900).factored) share *= 16;
    const double shift = top * (1 + share) + 0x1p-900;
    const numerics::Enclosure residual = numerics::verified_cholesky(ball.middle, shift).residual;
    ASSERT_GT(residual.upper_double(), 0);
    EXPECT_GE(upper, (numerics::Enclosure(shift) + residual).upper_double());
  }
}

TEST(BoundsLinear, WhatIsNotBoundedIsRefused) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {infinity, nan}) {
    BallMatrix ball = BallMatrix::exactly(MatrixXd::Identity(3, 3));
    ball.middle(1, 1) = bad;
    EXPECT_THROW(models::largest_eigenvalue(ball), std::range_error);
    ball = BallMatrix::exactly(MatrixXd::Identity(3, 3));
    ball.radius(0, 2) = bad;
    EXPECT_THROW(models::largest_eigenvalue(ball), std::range_error);
  }
  // Finite entries whose norm is not.
  EXPECT_THROW(models::largest_eigenvalue(BallMatrix::exactly(MatrixXd::Constant(3, 3, 1e308))), std::range_error);
  const models::LargestEigenvalue none = models::largest_eigenvalue(BallMatrix::exactly(MatrixXd::Zero(3, 3)));
  EXPECT_EQ(none.lower, 0);
  EXPECT_LE(none.upper, 1e-150);
}

TEST(BoundsLinear, SymmetrisedBallsHoldWhatTheBallHolds) {
  Drawing drawing(2);
  for (Index round = 0; round < 50; ++round) {
    const Index n = 1 + drawing.below(8);
    const MatrixXd factor = drawing.matrix(n, n);
    MatrixXd truth = factor + factor.transpose();
    // Both ends of what the ball allows a symmetric matrix to be.
    const double radius = 0x1p-20;
    BallMatrix ball{truth + radius * MatrixXd::NullaryExpr(n, n, [&] { return drawing.below(3) - 1.0; }),
                    MatrixXd::Constant(n, n, radius)};
    truth = truth.triangularView<Eigen::Lower>();
    truth.triangularView<Eigen::StrictlyUpper>() = truth.transpose();
    const BallMatrix half = models::symmetrised(ball);
    EXPECT_EQ(half.middle, half.middle.transpose());
    for (Index i = 0; i < n * n; ++i) {
      const long double off = static_cast<long double>(half.middle(i)) - static_cast<long double>(truth(i));
      // The middle was rounded when it was moved.
      EXPECT_LE(std::fabs(off), half.radius(i) + std::fabs(ball.middle(i)) * 0x1p-52L);
    }
  }
}

AffineImage image_of(const MatrixXd& m, const VectorXd& c, double radius_square) {
  return {models::symmetrised(BallMatrix::exactly(m) * BallMatrix::exactly(m).transpose()), BallMatrix::exactly(c),
          radius_square};
}

// max |M z + c|^2 over |z|^2 <= r from the eigenvalues of M M^T, in long double: least over lambda of
// lambda r + lambda c^T (lambda I - M M^T)^(-1) c, which every lambda above the largest bounds from above.
long double dual_value(const MatrixXd& m, const VectorXd& c, long double r) {
  const LinearWide wide = m.cast<long double>();
  const Eigen::SelfAdjointEigenSolver<LinearWide> solver(wide * wide.transpose());
  const Eigen::Matrix<long double, Eigen::Dynamic, 1> shares =
      solver.eigenvectors().transpose() * c.cast<long double>();
  const auto value = [&](long double lambda) {
    long double sum = lambda * r;
    for (Index i = 0; i < shares.size(); ++i) {
      if (shares(i) != 0) sum += lambda * shares(i) * shares(i) / (lambda - solver.eigenvalues()(i));
    }
    return sum;
  };
  const long double top = solver.eigenvalues().tail(1)(0);
  long double low = top * (1 + 1e-15L), high = top + 2 * c.norm() * std::sqrt(top / r) + 1e-15L;
  for (int i = 0; i < 300; ++i) {  // convex in lambda
    const long double first = low + (high - low) / 3, second = high - (high - low) / 3;
    (value(first) < value(second) ? high : low) = value(first) < value(second) ? second : first;
  }
  return value((low + high) / 2);
}

void expect_square(const MatrixXd& m, const VectorXd& c, double r, const std::string& name) {
  SCOPED_TRACE(name);
  const AffineImage image = image_of(m, c, r);
  const LargestSquare found = models::largest_square(image);
  const long double truth = dual_value(m, c, r);
  // Every lambda bounds the maximum from above: the search's lambda leaves less than the rounding of double.
  EXPECT_GE(found.upper, truth * (1 - 0x1p-52L));
  // The bound is flat in t near its best: an error of 2^-16 in t, in the hard case the root of what eigenvalues in
  // double are off by, counts as its square.
  EXPECT_LE(found.upper, truth * (1 + 0x1p-32L));
  EXPECT_LE(found.lower, found.upper);
  // A z whose square is 0.999 r or more is taken as it is, without what the hard case would add to it.
  EXPECT_GE(found.lower, truth * (1 - 1e-3L));
  EXPECT_NEAR(models::estimated_largest_square(image), static_cast<double>(truth), 2e-3 * static_cast<double>(truth));
}

TEST(BoundsLinear, LargestSquaresAreThoseOfTheDual) {
  Drawing drawing(3);
  for (Index round = 0; round < 40; ++round) {
    const Index n = 1 + drawing.below(10);
    const MatrixXd m = drawing.matrix(n, 1 + drawing.below(12));
    expect_square(m, std::pow(10.0, static_cast<double>(round % 9 - 4)) * drawing.vector(n), 1 + round,
                  "round " + std::to_string(round));
    expect_square(m, VectorXd::Zero(n), 2, "no offset");
  }
  MatrixXd m = MatrixXd::Zero(3, 3);
  m.diagonal() << 3, 2, 1;
  expect_square(m, VectorXd::Unit(3, 2), 4, "hard case");
  expect_square(m, 1e-3 * VectorXd::Unit(3, 1), 4, "hard case, small offset");
  m(1, 1) = 3;
  expect_square(m, VectorXd::Unit(3, 2), 4, "hard case, two top directions");
}

TEST(BoundsLinear, PointsLieInTheirBall) {
  Drawing drawing(4);
  for (Index round = 0; round < 100; ++round) {
    const Index n = 1 + drawing.below(8), d = n + drawing.below(5);
    const MatrixXd m = drawing.matrix(n, d);
    const double r = std::exp(drawing.vector(1)(0));
    const VectorXd w = drawing.vector(n);
    const BallMatrix point = image_of(m, VectorXd::Zero(n), r).point_towards(w);
    // The z of least norm with M z = point, in long double.
    const LinearWide wide = m.cast<long double>();
    const LinearWide gram = wide * wide.transpose();
    const LinearWide middle = point.middle.cast<long double>();
    const long double square = (middle.transpose() * gram.ldlt().solve(middle))(0, 0);
    // The solution loses the Gram matrix's condition times 2^-64; point and factor are off by a few n roundings, which
    // the same condition may carry into the square.
    const auto values = Eigen::SelfAdjointEigenSolver<LinearWide>(gram).eigenvalues();
    const long double lost = 32 * 0x1p-52L * values.tail(1)(0) / values(0);
    EXPECT_LE(square, r * (1 + lost));
    EXPECT_GE(square, r * (1 - lost));
  }
  const AffineImage nothing = image_of(MatrixXd::Zero(2, 2), VectorXd::Zero(2), 1);
  EXPECT_LE(nothing.point_towards(VectorXd::Ones(2)).middle.norm(), 1e-100);
}

// z = factor M^T w, whose square is factor^2 w^T G w, for every Gram matrix G of the ball.
TEST(BoundsLinear, PointsOfWideMatricesLieInTheirBallToo) {
  Drawing drawing(12);
  for (Index round = 0; round < 40; ++round) {
    const Index n = 1 + drawing.below(8);
    const VectorXd w = drawing.vector(n);
    const double r = std::exp(drawing.vector(1)(0)), radius = 1e-3;
    AffineImage image = image_of(drawing.matrix(n, n + 3), VectorXd::Zero(n), r);
    image.gram.radius += MatrixXd::Constant(n, n, radius);
    const BallMatrix point = image.point_towards(w);
    const VectorXd direction = image.gram.middle * w;
    const double factor = point.middle.col(0).dot(direction) / direction.squaredNorm();
    const VectorXd signs = w.cwiseSign();
    const double square = w.dot(image.gram.middle * w) + radius * std::pow(w.dot(signs), 2);
    // n + 6 roundings of numbers that the sums hold.
    EXPECT_LE(factor * factor * square, r * (1 + 0x1p-44)) << "round " << round;
  }
}

TEST(BoundsLinear, PlanesHaveOneWeightEachAndTheSearchHelps) {
  Drawing drawing(5);
  const std::vector<theory::Plane> planes = theory::interleaved_planes(6, 4);
  double gain = 0,
         gain_on_ones = 0;  // logarithms; a single search may end above its start, and the bound takes the least
  for (Index round = 0; round < 10; ++round) {
    const VectorXd sizes = (1.5 * drawing.vector(6)).array().exp();
    // Drawn one after the other: compilers differ in the order of a call's arguments.
    const MatrixXd query_weight = drawing.matrix(6, 8), key_weight = drawing.matrix(6, 8);
    const VectorXd query_bias = drawing.vector(6), key_bias = drawing.vector(6);
    const AffineImage query = image_of(sizes.asDiagonal() * query_weight, query_bias, 8);
    const AffineImage key = image_of(sizes.cwiseInverse().asDiagonal() * key_weight, key_bias, 8);
    const models::PlaneWeights weights = models::search_plane_weights(query, key, planes);
    const auto product = [&](const VectorXd& roots) {
      return models::largest_square(query.scaled(BallMatrix::exactly(roots.cwiseInverse()))).upper *
             models::largest_square(key.scaled(BallMatrix::exactly(roots))).upper;
    };
    for (const VectorXd& roots : {weights.start, weights.better}) {
      EXPECT_TRUE((roots.array() > 0).all());
      EXPECT_EQ(roots(0), roots(1));
      EXPECT_EQ(roots(2), roots(3));
    }
    gain += std::log(product(weights.start) / product(weights.better));
    gain_on_ones += std::log(product(VectorXd::Ones(6)) / product(weights.better));
  }
  EXPECT_GT(gain, 0);
  EXPECT_GT(gain_on_ones, 0);
}

}  // namespace
}  // namespace softcheck::proptests
