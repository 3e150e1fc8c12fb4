#include "numerics/matrices/ball_matrix.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "numerics/enclosures/decision.hpp"
#include "numerics/formats/fp_environment.hpp"

namespace softcheck::numerics {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

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
