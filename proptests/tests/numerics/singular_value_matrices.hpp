#pragma once

#include <Eigen/Core>
#include <Eigen/QR>
#include <bit>
#include <cstdint>
#include <random>

// Matrices whose largest singular value is hard to bound, or known.
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

}  // namespace softcheck::numerics::test
