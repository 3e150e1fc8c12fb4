// The parts of the bound of sigma_max, each by its formula or by the inertia of t^2 I - A A^T.
#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cmath>
#include <optional>
#include <random>

#include "numerics/enclosures/decision.hpp"
#include "numerics/formats/fp_environment.hpp"
#include "numerics/matrices/ball_matrix.hpp"
#include "numerics/matrices/integer_gram.hpp"
#include "numerics/matrices/scaled_matrix.hpp"
#include "numerics/matrices/singular_value.hpp"
#include "numerics/matrices/verified_cholesky.hpp"
#include "proptests/tests/numerics/singular_value_matrices.hpp"

namespace softcheck::numerics {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using test::is_valid_upper_bound;
using test::normal_matrix;

// A A^T, each sum from left to right.
MatrixXd sequential_gram(const MatrixXd& matrix) {
  MatrixXd gram = MatrixXd::Zero(matrix.rows(), matrix.rows());
  for (Index i = 0; i < gram.rows(); ++i)
    for (Index j = 0; j < gram.cols(); ++j)
      for (Index l = 0; l < matrix.cols(); ++l) gram(i, j) += matrix(i, l) * matrix(j, l);
  return gram;
}

TEST(VerifiedCholesky, BoundsWhatItsFactorMisses) {
  const PrecisionScope precision(256);
  int beyond_computed = 0;
  for (Index n : {1, 2, 3, 7}) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
      const MatrixXd symmetric = sequential_gram(normal_matrix(n, n + 1, seed));
      const double shift = 2 * symmetric.trace() + 0.1;
      const VerifiedCholesky cholesky = verified_cholesky(symmetric, shift);
      ASSERT_TRUE(cholesky.factored);
      const MatrixXd& factor = cholesky.lower;
      const MatrixXd computed = shift * MatrixXd::Identity(n, n) - symmetric - factor * factor.transpose();
      for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < n; ++j) {
          Enclosure missed = Enclosure(i == j ? shift : 0.0) - Enclosure(symmetric(i, j));
          for (Index l = 0; l < n; ++l) missed -= Enclosure(factor(i, l)) * Enclosure(factor(j, l));
          // |R_ij| <= ||R||_2.
          EXPECT_EQ(less_equal(abs(missed), Enclosure(cholesky.residual.upper_double())), Decision::proved);
          const Enclosure norm(computed.cwiseAbs().rowwise().sum().maxCoeff());
          if (less(norm, abs(missed)) == Decision::proved) ++beyond_computed;
        }
      }
    }
  }
  // The residual as computed, without the account of its own rounding, is no bound.
  EXPECT_GT(beyond_computed, 0);
}

// Just below the largest eigenvalue of S = M M^T the factorisation goes through on rounding errors alone; t + residual
// is a bound all the same. A little further below it breaks off.
TEST(VerifiedCholesky, AFactorisationProvesNothingWithoutItsResidual) {
  int deceived = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const MatrixXd symmetric = sequential_gram(test::integer_matrix(8, 8, 99, seed));  // exact, and its own sigma_max
    const double largest = largest_singular_value(symmetric).lower;
    EXPECT_FALSE(verified_cholesky(symmetric, largest * (1 - 0x1p-20)).factored);
    for (int step = -12; step <= 4; ++step) {
      const double shift = largest * (1 + step * 0x1p-52);
      const VerifiedCholesky cholesky = verified_cholesky(symmetric, shift);
      if (!cholesky.factored) continue;
      if (!is_valid_upper_bound(symmetric, shift)) ++deceived;
      const PrecisionScope precision(113);
      EXPECT_TRUE(is_valid_upper_bound(symmetric, (Enclosure(shift) + cholesky.residual).upper_double())) << seed;
    }
  }
  EXPECT_GT(deceived, 0);
}

// No number of steps of a power iteration from a vector of ones leaves the second singular vector, of 8.
TEST(LargestSingularValue, IsFoundWhereAPowerIterationSettlesOnTheSecond) {
  const Eigen::Vector4d leading(1, -1, 1, -1), second = Eigen::Vector4d::Ones();
  EXPECT_EQ(largest_singular_value(3 * leading * leading.transpose() + 2 * second * second.transpose()).upper, 12);
}

TEST(VerifiedCholesky, ItsResidualHasEveryTermOfItsDerivation) {
  // shift - S is diag(9, 4, 1) times a power of four, whose factor is exact: what is computed is 0. Among the smallest
  // numbers what underflows outweighs the roundings.
  const PrecisionScope precision(113);
  for (const int exponent : {0, -1060}) {
    const double scale = std::ldexp(1.0, exponent);
    MatrixXd symmetric = MatrixXd::Zero(3, 3);
    symmetric.diagonal() << scale, 6 * scale, 9 * scale;
    const VerifiedCholesky cholesky = verified_cholesky(symmetric, 10 * scale);
    ASSERT_TRUE(cholesky.factored);
    const Enclosure evaluation = 1 - rounding_gamma(6), largest(9 * scale);
    const Enclosure rounding = rounding_gamma(4) * (largest + largest) / evaluation;
    const Enclosure stated =
        rounding + 5 * underflow_loss(4) + Enclosure::power_of_two(-53) * largest;  // n + 2 sums of n + 1 products
    EXPECT_FALSE((cholesky.residual - stated * (1 - Enclosure::power_of_two(-60))).certainly_negative()) << exponent;
    EXPECT_FALSE((stated * (1 + Enclosure::power_of_two(-60)) - cholesky.residual).certainly_negative()) << exponent;
  }
}

// The eigenvalue of a diagonal matrix is its largest entry, wherever it stands.
TEST(IntegerGram, SettlesADiagonalMatrixByItsStructure) {
  for (int top = 0; top < 3; ++top) {
    Eigen::MatrixXd gram = Eigen::Vector3d(1, 2, 3).asDiagonal();
    gram(top, top) = 7;
    IntegerGram integers(gram, 0);
    integers.try_structure();
    EXPECT_EQ(integers.eigenvalue().lower_double(), 7) << top;
    EXPECT_EQ(integers.eigenvalue().upper_double(), 7) << top;
  }
}

// Three products of numbers of 26 bits can add up to more than 2^53, one cannot.
TEST(IntegerGram, ProductsAreExactOnlyWhereTheirSumIsBelow53Bits) {
  const double widest = 0x1p26 - 1;
  EXPECT_EQ(numerics::exact_product_exponent(Eigen::MatrixXd::Constant(1, 1, widest)), 0);
  EXPECT_EQ(numerics::exact_product_exponent(Eigen::MatrixXd::Constant(1, 3, widest)), std::nullopt);
  EXPECT_EQ(numerics::exact_product_exponent(Eigen::MatrixXd::Constant(1, 3, 0x1p25 - 1)), 0);
}

TEST(IntegerGram, LeavesWhatItsPrecisionCannotTellUndecided) {
  MatrixXd gram(2, 2);
  gram << 2, 1, 1, 2;  // largest eigenvalue 3
  const Enclosure below = [] {
    const PrecisionScope precision(256);
    return Enclosure(3) - Enclosure::power_of_two(-200);
  }();
  const PrecisionScope precision(64);
  const IntegerGram integers(gram, 0);
  EXPECT_EQ(integers.largest_at_most(Enclosure(4)), Decision::proved);
  EXPECT_EQ(integers.largest_at_most(Enclosure(2.75)), Decision::violated);
  EXPECT_EQ(integers.largest_at_most(Enclosure(3)), Decision::undecided);
  EXPECT_NE(integers.largest_at_most(below), Decision::proved);
}

TEST(LargestSingularValue, TheJudgeTellsNeighbouringDoublesApart) {
  // sigma = 5: itself a bound, the double below is none.
  MatrixXd matrix(2, 2);
  matrix << 3, 4, 4, -3;
  EXPECT_TRUE(is_valid_upper_bound(matrix, 5));
  EXPECT_FALSE(is_valid_upper_bound(matrix, test::next_below(5)));
  EXPECT_TRUE(test::is_valid_lower_bound(matrix, 5));
  EXPECT_FALSE(test::is_valid_lower_bound(matrix, test::next_above(5)));
}

MatrixXd drawn_matrix(Index rows, Index columns, double size, std::mt19937_64& random) {
  std::normal_distribution<double> normal(0, size);
  return MatrixXd::NullaryExpr(rows, columns, [&] { return normal(random); });
}

BallMatrix drawn_balls(Index rows, Index columns, std::mt19937_64& random) {
  return {drawn_matrix(rows, columns, 1, random), drawn_matrix(rows, columns, 0x1p-20, random).cwiseAbs()};
}

// What one product of entries adds to a radius: |a| (share |b| + rb) + ra (|b| + rb).
Enclosure radius_of_product(const BallMatrix& a, const BallMatrix& b, Index i, Index t, Index j, double share) {
  const Enclosure size(std::fabs(b.middle(t, j))), rb(b.radius(t, j));
  return Enclosure(std::fabs(a.middle(i, t))) * (Enclosure(share) * size + rb) +
         Enclosure(a.radius(i, t)) * (size + rb);
}

void expect_no_less(double radius, const Enclosure& formula) {
  EXPECT_EQ(less_equal(formula, Enclosure(radius)), Decision::proved) << radius << " " << formula.to_string(20);
  // And not much more: the roundings of a few operations.
  EXPECT_EQ(less_equal(Enclosure(radius), formula * Enclosure(1 + 0x1p-40) + Enclosure(underflow_share)),
            Decision::proved);
}

// Radii are computed in doubles themselves: what is lost there has to be given back.
TEST(BallMatrix, RadiiAreNoLessThanTheirFormulas) {
  const FpEnvironmentGuard environment;
  std::mt19937_64 random(20261125);
  for (int trial = 0; trial < 200; ++trial) {
    const Index k = 1 + trial % 7;
    const BallMatrix a = drawn_balls(2, k, random), b = drawn_balls(k, 2, random), c = drawn_balls(2, 2, random);
    const BallMatrix product = a * b, sum = product + c, entrywise = entrywise_product(product, c);
    for (Index i = 0; i < 2; ++i) {
      for (Index j = 0; j < 2; ++j) {
        Enclosure formula(0);
        for (Index t = 0; t < k; ++t) formula += radius_of_product(a, b, i, t, j, rounding_share(k));
        expect_no_less(product.radius(i, j), formula);
        expect_no_less(sum.radius(i, j), Enclosure(product.radius(i, j)) + Enclosure(c.radius(i, j)) +
                                             Enclosure(rounding_share(1)) * Enclosure(std::fabs(sum.middle(i, j))));
        const Enclosure size(std::fabs(c.middle(i, j))), rc(c.radius(i, j));
        expect_no_less(entrywise.radius(i, j),
                       Enclosure(std::fabs(product.middle(i, j))) * (Enclosure(rounding_share(1)) * size + rc) +
                           Enclosure(product.radius(i, j)) * (size + rc));
      }
    }
  }
}

}  // namespace
}  // namespace softcheck::numerics
