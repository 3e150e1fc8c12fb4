#include "numerics/matrices/singular_value.hpp"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "numerics/formats/fp_environment.hpp"
#include "numerics/matrices/scaled_matrix.hpp"
#include "proptests/tests/numerics/fp_control.hpp"
#include "proptests/tests/numerics/singular_value_matrices.hpp"

namespace softcheck::numerics {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::MatrixXf;
using Eigen::VectorXd;
using test::encloses_largest_singular_value;
using test::hadamard_matrix;
using test::integer_matrix;
using test::matrix_with_spectrum;
using test::normal_matrix;

// What issue 2 promises of a matrix of 2048 x 2048, normal entries.
constexpr double promised_width = 1e-8;

const std::pair<Index, Index> matrix_shapes[] = {{2, 2},  {3, 3},  {5, 5},   {8, 8},  {13, 13},
                                                 {2, 60}, {60, 2}, {12, 31}, {31, 12}};

void expect_proved(const MatrixXd& matrix) {
  const SingularValueEnclosure sigma = largest_singular_value(matrix);
  EXPECT_LE(sigma.lower, sigma.upper);
  EXPECT_TRUE(encloses_largest_singular_value(matrix, sigma))
      << matrix.rows() << " x " << matrix.cols() << ": [" << sigma.lower << ", " << sigma.upper << "]";
  const SingularValueEnclosure second = gram_iteration(matrix);
  EXPECT_TRUE(encloses_largest_singular_value(matrix, second)) << "[" << second.lower << ", " << second.upper << "]";
}

void expect_exactly(double expected, const MatrixXd& matrix) {
  const SingularValueEnclosure sigma = largest_singular_value(matrix);
  EXPECT_EQ(sigma.lower, expected) << matrix.rows() << " x " << matrix.cols();
  EXPECT_EQ(sigma.upper, expected) << matrix.rows() << " x " << matrix.cols();
}

// The two doubles around sqrt(square), or sqrt(square) itself.
void expect_root(std::uint64_t square, const MatrixXd& matrix) {
  const PrecisionScope precision(256);
  const Enclosure root = sqrt(Enclosure::integer(square));
  const SingularValueEnclosure sigma = largest_singular_value(matrix);
  EXPECT_EQ(sigma.lower, root.lower_double()) << "root of " << square;
  EXPECT_EQ(sigma.upper, root.upper_double()) << "root of " << square;
}

TEST(LargestSingularValue, EnclosesThatOfNormalMatricesOfEveryShape) {
  for (const auto& [rows, columns] : matrix_shapes)
    for (std::uint64_t seed = 1; seed <= 4; ++seed) expect_proved(normal_matrix(rows, columns, seed));
}

TEST(LargestSingularValue, EnclosesThatOfFloatMatrices) {
  for (const auto& [rows, columns] : matrix_shapes) {
    const MatrixXf matrix = normal_matrix(rows, columns, 7).cast<float>();
    EXPECT_TRUE(encloses_largest_singular_value(matrix.cast<double>(), largest_singular_value(matrix)));
    EXPECT_TRUE(encloses_largest_singular_value(matrix.cast<double>(), gram_iteration(matrix)));
  }
}

TEST(LargestSingularValue, EnclosesThatOfGradedAndOfNearlyMultipleSpectra) {
  constexpr Index n = 10;
  VectorXd values(n);
  for (Index i = 0; i < n; ++i) values[i] = std::pow(10.0, -16.0 * static_cast<double>(i) / (n - 1));
  expect_proved(matrix_with_spectrum(values, 3));
  for (int bits : {10, 26, 40, 52}) {
    for (Index i = 0; i < n; ++i) values[i] = 1 - std::ldexp(static_cast<double>(i), -bits);
    expect_proved(matrix_with_spectrum(values, 4));
  }
  expect_proved(normal_matrix(12, 1, 5) * normal_matrix(1, 9, 6));
}

TEST(LargestSingularValue, EnclosesThatOfIllScaledMatrices) {
  const MatrixXd base = normal_matrix(6, 9, 11);
  const double tiny = std::numeric_limits<double>::denorm_min();
  for (double scale : {1e300, 1e307, 1e-300, 1e-308, 1e-320, tiny}) expect_proved(base * scale);
  MatrixXd mixed = base;
  mixed.row(1) *= 1e-300;
  mixed.row(2) *= 1e300;
  mixed.row(3) *= 1e-320;
  expect_proved(mixed);
  // Below the largest row everything is lost when it is brought to size 1.
  mixed = MatrixXd::Constant(4, 4, tiny);
  mixed.row(0).setConstant(1e308);
  expect_proved(mixed);
}

TEST(LargestSingularValue, EnclosesThatOfRowsWhoseSquaresAllRoundOneWay) {
  // Behind the leading ones every square is 0.4 or 0.6 of an ulp: the sum loses or gains nearly as much as gamma_k
  // allows.
  for (double fraction : {0.4, 0.6}) {
    for (Index ones : {1, 16}) {
      MatrixXd matrix = MatrixXd::Zero(2, 4096);
      matrix.row(0).setConstant(std::sqrt(fraction) * 0x1p-26);
      matrix.row(0).head(ones).setOnes();
      matrix(1, 17) = 0.5;
      expect_proved(matrix);
    }
  }
}

TEST(LargestSingularValue, IsNoPointWhereScalingLosesAnEntry) {
  // sigma > 2^1023 because of an entry that vanishes beside 2^1023.
  MatrixXd matrix = MatrixXd::Zero(2, 2);
  matrix(0, 0) = 0x1p1023;
  matrix(0, 1) = std::numeric_limits<double>::denorm_min();
  expect_proved(matrix);
  EXPECT_GT(largest_singular_value(matrix).upper, 0x1p1023);
}

TEST(LargestSingularValue, EnclosesThatOfIntegersTooLargeForExactProducts) {
  for (int bits = 18; bits <= 30; ++bits) {
    expect_proved(integer_matrix(4, 30, 1 << bits, 1));
    expect_proved(integer_matrix(2, 2, 1 << bits, 2));
  }
  const double large = 0x1p26 + 1;  // its square is no double
  MatrixXd matrix(2, 2);
  matrix << large, large, large, -large;
  expect_proved(matrix);
}

TEST(LargestSingularValue, AllowsForTheRoundingOfItsGramMatrix) {
  // Products that are not exact, in one row: sigma^2 = 4096 x^2. The upper end allows for gamma_k sum |a||a| of it. x^2
  // lies below 14 and rounds to 14, as each sum of such products rounds to a multiple of 14, with an fma too: whatever
  // the order of the additions, the computed matrix holds 4096 * 14, which is not below sigma^2.
  const double x = std::sqrt(14.0);
  MatrixXd matrix = MatrixXd::Zero(2, 4096);
  matrix.row(0).setConstant(x);
  const PrecisionScope precision(256);
  const Enclosure sigma_squared = 4096 * square(Enclosure(x));
  ASSERT_EQ(less(sigma_squared, Enclosure(4096 * 14)), Decision::proved);
  ASSERT_EQ(x * x, 14);
  const Enclosure allowed = square(Enclosure(largest_singular_value(matrix).upper)) - sigma_squared;
  EXPECT_EQ(less_equal(rounding_gamma(4096) * sigma_squared, allowed), Decision::proved);
}

TEST(LargestSingularValue, OfATwoByTwoMatrixMeetsTheClosedForm) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const MatrixXd m = normal_matrix(2, 2, seed);
    const PrecisionScope precision(256);
    const Enclosure a(m(0, 0)), b(m(0, 1)), c(m(1, 0)), d(m(1, 1));
    const Enclosure first = square(a) + square(b), second = square(c) + square(d);
    const Enclosure discriminant = square(first - second) + 4 * square(a * c + b * d);
    const Enclosure sigma = sqrt((first + second + sqrt(discriminant)) / 2);
    const SingularValueEnclosure found = largest_singular_value(m);
    EXPECT_TRUE(Enclosure::between(found.lower, found.upper).contains(sigma)) << "seed " << seed;
  }
}

TEST(LargestSingularValue, OfHadamardMatricesIsTheTightestEnclosure) {
  for (Index n = 1; n <= 256; n *= 2) {
    expect_root(static_cast<std::uint64_t>(n), hadamard_matrix(n));
    expect_root(static_cast<std::uint64_t>(n), hadamard_matrix(n).topRows((n + 1) / 2));
  }
  expect_exactly(32, hadamard_matrix(1024));
}

TEST(LargestSingularValue, OfStructuredIntegerMatricesIsExact) {
  VectorXd diagonal(5);
  diagonal << 3, -17, 4, 0, 16;
  expect_exactly(17, diagonal.asDiagonal().toDenseMatrix());
  expect_exactly(1, MatrixXd::Identity(40, 40).rowwise().reverse());
  expect_root(7 * 11, MatrixXd::Ones(7, 11));
  VectorXd left(4), right(3);
  left << 3, 0, -4, 12;  // norm 13
  right << 8, -9, 12;    // norm 17
  expect_exactly(13 * 17, left * right.transpose());
  expect_exactly(13 * 17, right * left.transpose());
  MatrixXd orthogonal(4, 4);  // left multiplication by the quaternion 1 + 2i + 4j + 10k, of norm 11
  orthogonal << 1, -2, -4, -10, 2, 1, -10, 4, 4, 10, 1, -2, 10, -4, 2, 1;
  expect_exactly(11, orthogonal);
  MatrixXd perron(2, 2);  // symmetric, eigenvector (2, 1)
  perron << 4, 2, 2, 1;
  expect_exactly(5, perron);
  perron << 3, 4, 4, -3;
  expect_exactly(5, perron);
}

TEST(LargestSingularValue, ScalesByPowersOfTwoExactly) {
  for (int exponent : {-1074, -1060, -500, -3, 7, 900, 1019})
    expect_exactly(std::ldexp(16.0, exponent), hadamard_matrix(256) * std::ldexp(1.0, exponent));
}

TEST(LargestSingularValue, OfSmallIntegerMatricesIsWithinTwoUlp) {
  for (const auto& [rows, columns] : matrix_shapes) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const MatrixXd matrix = integer_matrix(rows, columns, 9, seed);
      const SingularValueEnclosure sigma = largest_singular_value(matrix);
      EXPECT_TRUE(encloses_largest_singular_value(matrix, sigma)) << rows << " x " << columns;
      EXPECT_LE(sigma.upper, test::next_above(test::next_above(sigma.lower))) << rows << " x " << columns;
    }
  }
}

TEST(LargestSingularValue, OfAVectorIsItsNorm) {
  MatrixXd row(1, 2);
  row << 3, -4;
  expect_exactly(5, row);
  expect_exactly(5, row.transpose());
  for (double entry : {0.1, -1e308, 5e-324}) expect_exactly(std::abs(entry), MatrixXd::Constant(1, 1, entry));
  const MatrixXd vector = normal_matrix(1, 1000, 2);
  const SingularValueEnclosure sigma = largest_singular_value(vector);
  EXPECT_LE(sigma.upper, test::next_above(sigma.lower));
  EXPECT_TRUE(encloses_largest_singular_value(vector, sigma));
}

TEST(LargestSingularValue, OfEmptyAndZeroMatricesIsZero) {
  for (const MatrixXd& matrix : {MatrixXd(0, 0), MatrixXd(0, 3), MatrixXd(3, 0), MatrixXd(MatrixXd::Zero(3, 4))}) {
    expect_exactly(0, matrix);
    EXPECT_EQ(gram_iteration(matrix).upper, 0);
  }
}

TEST(LargestSingularValue, BeyondTheLargestDoubleHasNoFiniteUpperEnd) {
  const SingularValueEnclosure sigma = largest_singular_value(MatrixXd::Constant(3, 3, 1.7e308).eval());
  EXPECT_EQ(sigma.lower, std::numeric_limits<double>::max());
  EXPECT_EQ(sigma.upper, std::numeric_limits<double>::infinity());
}

TEST(LargestSingularValue, RefusesEntriesThatAreNotFinite) {
  for (double entry : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                       -std::numeric_limits<double>::infinity()}) {
    MatrixXd matrix = MatrixXd::Ones(3, 4);
    matrix(2, 1) = entry;
    EXPECT_THROW(largest_singular_value(matrix), std::invalid_argument);
    EXPECT_THROW(gram_iteration(matrix), std::invalid_argument);
    const MatrixXf floats = matrix.cast<float>();
    EXPECT_THROW(largest_singular_value(floats), std::invalid_argument);
  }
  EXPECT_THROW(gram_iteration(MatrixXd::Ones(2, 2).eval(), -1), std::invalid_argument);
  EXPECT_THROW(gram_iteration(MatrixXd::Ones(2, 2).eval(), 61), std::invalid_argument);
}

TEST(LargestSingularValue, DoesNotDependOnTheCallersFloatingPointEnvironment) {
  const MatrixXd matrix = normal_matrix(7, 9, 4) * 1e-310;
  const MatrixXf floats = (normal_matrix(7, 9, 4) * 1e-40).cast<float>();
  const SingularValueEnclosure expected = largest_singular_value(matrix);
  const SingularValueEnclosure expected_of_floats = largest_singular_value(floats);
  EXPECT_GT(expected_of_floats.lower, 0);
  const FpEnvironmentGuard restore;
  set_fp_control(fp_control() | flush_bits);
  std::fesetround(FE_UPWARD);
  const SingularValueEnclosure sigma = largest_singular_value(matrix);
  const SingularValueEnclosure of_floats = largest_singular_value(floats);
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  EXPECT_EQ(std::memcmp(&sigma, &expected, sizeof sigma), 0);
  EXPECT_EQ(std::memcmp(&of_floats, &expected_of_floats, sizeof of_floats), 0);
}

TEST(LargestSingularValue, IsNarrowWhereSingularValuesCrowdAtTheTop) {
  // 1 - (i/n)^power: the gap at the top is 200^-power, far beyond what Lanczos resolves by itself.
  constexpr Index n = 200;
  for (double power : {2.0, 4.0, 12.0}) {
    VectorXd values(n);
    for (Index i = 0; i < n; ++i) values[i] = 1 - std::pow(static_cast<double>(i) / n, power);
    const MatrixXd matrix = matrix_with_spectrum(values, 8);
    const SingularValueEnclosure sigma = largest_singular_value(matrix);
    EXPECT_LE(sigma.upper - sigma.lower, promised_width * sigma.lower) << power;
    const SingularValueEnclosure second = gram_iteration(matrix, 30);
    EXPECT_LE(second.lower, sigma.upper) << power;
    EXPECT_LE(sigma.lower, second.upper) << power;
  }
}

// Labelled full: LargestSingularValue.IsNarrowAtTwoThousandRows
TEST(LargestSingularValue, IsNarrowAtTwoThousandRows) {
  const MatrixXd matrix = normal_matrix(2048, 2048, 1);
  const SingularValueEnclosure sigma = largest_singular_value(matrix);
  EXPECT_LE(sigma.upper - sigma.lower, promised_width * sigma.lower);
}

TEST(GramIteration, OverlapsTheCholeskyRoute) {
  for (const auto& [rows, columns] : {std::pair<Index, Index>{64, 64}, {50, 120}, {120, 50}, {3, 300}}) {
    const MatrixXd matrix = normal_matrix(rows, columns, 21);
    const SingularValueEnclosure first = largest_singular_value(matrix);
    for (int squarings = 0; squarings <= 30; squarings += 3) {
      const SingularValueEnclosure second = gram_iteration(matrix, squarings);
      EXPECT_LE(second.lower, first.upper) << squarings;
      EXPECT_LE(first.lower, second.upper) << squarings;
    }
  }
}

TEST(GramIteration, OvershootsByAtMostARootOfTheRank) {
  const PrecisionScope precision(113);
  for (Index rank : {1, 2, 5, 40}) {
    const MatrixXd matrix = normal_matrix(40, rank, 5) * normal_matrix(rank, 40, 6);
    const SingularValueEnclosure sigma = largest_singular_value(matrix);
    for (int squarings : {0, 1, 4, 8}) {
      // The exact overshoot is below rank^(1/2^(p+2)); the accounted roundings stay far below its square.
      const Enclosure root = log(Enclosure(static_cast<int>(rank))) * Enclosure::power_of_two(-squarings - 1);
      const Enclosure bound = rank == 1 ? Enclosure(1) + Enclosure::power_of_two(-30) : exp(root);
      const Enclosure second(gram_iteration(matrix, squarings).upper);
      EXPECT_EQ(less_equal(second, Enclosure(sigma.upper) * bound), Decision::proved) << rank << " " << squarings;
    }
  }
}

}  // namespace
}  // namespace softcheck::numerics
