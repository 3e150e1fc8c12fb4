#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <vector>

#include "theory/scalar.hpp"

namespace softcheck::theory {

// Vectors of any scalar, and matrices of doubles that act on them: with enclosures of enough bits, dyadic numbers go
// through these without rounding.

template <Scalar T>
std::vector<T> multiply(const Eigen::MatrixXd& matrix, const std::vector<T>& x) {
  std::vector<T> result(static_cast<std::size_t>(matrix.rows()), T(0));
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    T& sum = result[static_cast<std::size_t>(i)];
    for (Eigen::Index j = 0; j < matrix.cols(); ++j) sum += T(matrix(i, j)) * x[static_cast<std::size_t>(j)];
  }
  return result;
}

template <Scalar T>
T dot(const std::vector<T>& x, const std::vector<T>& y) {
  T sum = T(0);
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

template <Scalar T>
std::vector<T> add(std::vector<T> x, const std::vector<T>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  return x;
}

template <Scalar T>
std::vector<T> subtract(std::vector<T> x, const std::vector<T>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] -= y[i];
  return x;
}

template <Scalar T>
T norm_square(const std::vector<T>& x) {
  T sum = T(0);
  for (const T& entry : x) sum += square(entry);
  return sum;
}

template <Scalar T>
std::vector<T> as_scalars(const Eigen::VectorXd& x) {
  std::vector<T> result;
  for (Eigen::Index i = 0; i < x.size(); ++i) result.push_back(T(x(i)));
  return result;
}

}  // namespace softcheck::theory
