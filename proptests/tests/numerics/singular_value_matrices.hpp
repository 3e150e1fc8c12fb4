#pragma once

#include <Eigen/Core>
#include <Eigen/QR>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "numerics/enclosures/decision.hpp"
#include "numerics/matrices/singular_value.hpp"

// Matrices whose largest singular value is hard to bound, or known.
// An independent judge of bounds of sigma_max for small matrices: the signs of the pivots of t^2 I - A A^T in
// enclosures (Sylvester's law of inertia). It knows nothing of how a bound was found.
namespace softcheck::numerics::test {

inline Eigen::MatrixXd normal_matrix(Eigen::Index rows, Eigen::Index columns, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  Eigen::MatrixXd matrix(rows, columns);
  for (double& entry : matrix.reshaped()) entry = normal(engine);
  return matrix;
}

inline Eigen::MatrixXd integer_matrix(Eigen::Index rows, Eigen::Index columns, int bound, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::uniform_int_distribution<int> uniform(-bound, bound);
  Eigen::MatrixXd matrix(rows, columns);
  for (double& entry : matrix.reshaped()) entry = uniform(engine);
  return matrix;
}

inline Eigen::MatrixXd nearly_orthogonal_matrix(Eigen::Index n, std::uint64_t seed) {
  return Eigen::HouseholderQR<Eigen::MatrixXd>(normal_matrix(n, n, seed)).householderQ();
}

/// Singular values close to the given ones: the matrix is what it is after rounding.
inline Eigen::MatrixXd matrix_with_spectrum(const Eigen::VectorXd& values, std::uint64_t seed) {
  return nearly_orthogonal_matrix(values.size(), seed) * values.asDiagonal() *
         nearly_orthogonal_matrix(values.size(), seed + 1).transpose();
}

/// Sylvester's Hadamard matrix, n a power of two: H H^T = n I.
inline Eigen::MatrixXd hadamard_matrix(Eigen::Index n) {
  Eigen::MatrixXd matrix(n, n);
  for (Eigen::Index j = 0; j < n; ++j)
    for (Eigen::Index i = 0; i < n; ++i)
      matrix(i, j) = std::popcount(static_cast<std::uint64_t>(i & j)) % 2 == 0 ? 1 : -1;
  return matrix;
}

inline double next_above(double x) { return std::nextafter(x, std::numeric_limits<double>::infinity()); }
inline double next_below(double x) { return std::nextafter(x, -std::numeric_limits<double>::infinity()); }

/// proved: sigma_max < t; violated: sigma_max > t; undecided: closer than 512 bits can tell, as where they are equal.
inline Decision sigma_is_below(const Eigen::MatrixXd& matrix, double t) {
  const Eigen::MatrixXd a = matrix.rows() <= matrix.cols() ? matrix : Eigen::MatrixXd(matrix.transpose());
  const Eigen::Index n = a.rows();
  if (std::isinf(t)) return t > 0 ? Decision::proved : Decision::violated;
  return escalate([&] {
    std::vector<std::vector<Enclosure>> m(static_cast<std::size_t>(n),
                                          std::vector<Enclosure>(static_cast<std::size_t>(n)));
    const auto at = [&](Eigen::Index i, Eigen::Index j) -> Enclosure& {
      return m[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
    };
    for (Eigen::Index i = 0; i < n; ++i) {
      for (Eigen::Index j = 0; j < n; ++j) {
        Enclosure entry = i == j ? square(Enclosure(t)) : Enclosure(0);
        for (Eigen::Index l = 0; l < a.cols(); ++l) entry -= Enclosure(a(i, l)) * Enclosure(a(j, l));
        at(i, j) = entry;
      }
    }
    for (Eigen::Index p = 0; p < n; ++p) {
      if (at(p, p).certainly_negative()) return Decision::violated;
      if (!at(p, p).certainly_positive()) return Decision::undecided;
      for (Eigen::Index i = p + 1; i < n; ++i)
        for (Eigen::Index j = p + 1; j < n; ++j) at(i, j) -= at(i, p) * at(p, j) / at(p, p);
    }
    return Decision::proved;
  });
}

/// A double that no real singular value exceeds: not refuted itself, and the next double is proved.
inline bool is_valid_upper_bound(const Eigen::MatrixXd& matrix, double candidate) {
  if (std::isnan(candidate)) return false;
  return sigma_is_below(matrix, candidate) != Decision::violated &&
         sigma_is_below(matrix, next_above(candidate)) == Decision::proved;
}

/// A double that sigma_max reaches: not refuted itself, and sigma_max exceeds the double before.
inline bool is_valid_lower_bound(const Eigen::MatrixXd& matrix, double candidate) {
  if (std::isnan(candidate)) return false;
  return candidate == 0 || (sigma_is_below(matrix, candidate) != Decision::proved &&
                            sigma_is_below(matrix, next_below(candidate)) == Decision::violated);
}

inline bool encloses_largest_singular_value(const Eigen::MatrixXd& matrix, const SingularValueEnclosure& sigma) {
  return is_valid_lower_bound(matrix, sigma.lower) && is_valid_upper_bound(matrix, sigma.upper);
}

}  // namespace softcheck::numerics::test
