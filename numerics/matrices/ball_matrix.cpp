#include "numerics/matrices/ball_matrix.hpp"

#include <cmath>
#include <stdexcept>

namespace softcheck::numerics {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

bool is_exact(const BallMatrix& a) { return (a.radius.array() == 0).all(); }

}  // namespace

BallMatrix BallMatrix::exactly(MatrixXd matrix) {
  MatrixXd none = MatrixXd::Zero(matrix.rows(), matrix.cols());
  return {std::move(matrix), std::move(none)};
}

Enclosure BallMatrix::operator()(Index row, Index column) const {
  const double r = radius(row, column);
  if (!std::isfinite(middle(row, column)) || !std::isfinite(r)) {
    throw std::range_error("BallMatrix: an entry leaves the range of double");
  }
  return Enclosure(middle(row, column)) + Enclosure::between(-r, r);
}

MatrixXd raised(const MatrixXd& computed, Index k) {
  return (computed * (1 + 2 * rounding_share(k + 4))).array() + underflow_share;
}

BallMatrix operator*(const BallMatrix& a, const BallMatrix& b) {
  const Index k = a.cols();
  BallMatrix product;
  product.middle.noalias() = a.middle * b.middle;
  // |AB - fl| <= |A| (gamma |B| + rB) + rA (|B| + rB)
  const MatrixXd size = b.middle.cwiseAbs();
  MatrixXd radius = a.middle.cwiseAbs() * (rounding_share(k) * size + b.radius);
  if (!is_exact(a)) radius += a.radius * (size + b.radius);
  product.radius = raised(radius, 2 * k);
  return product;
}

BallMatrix operator+(const BallMatrix& a, const BallMatrix& b) {
  BallMatrix sum{a.middle + b.middle, {}};
  sum.radius = raised(a.radius + b.radius + rounding_share(1) * sum.middle.cwiseAbs(), 4);
  return sum;
}

BallMatrix entrywise_product(const BallMatrix& a, const BallMatrix& b) {
  BallMatrix product{a.middle.cwiseProduct(b.middle), {}};
  const MatrixXd size = b.middle.cwiseAbs();
  product.radius = raised(
      a.middle.cwiseAbs().cwiseProduct(rounding_share(1) * size + b.radius) + a.radius.cwiseProduct(size + b.radius),
      8);
  return product;
}

BallMatrix add_to_columns(const BallMatrix& a, const BallMatrix& b) {
  return a + BallMatrix{b.middle.replicate(1, a.cols()), b.radius.replicate(1, a.cols())};
}

BallMatrix widened(const BallMatrix& centre, const BallMatrix& slope, const VectorXd& half) {
  const MatrixXd reach = (slope.middle.cwiseAbs() + slope.radius) * half.asDiagonal();
  return {centre.middle, raised(centre.radius + reach, 4)};
}

VectorXd column_norms(const MatrixXd& matrix) {
  // The squares' underflow loss is below the square of the second term.
  const VectorXd squares = matrix.colwise().squaredNorm().transpose();
  return raised(squares.cwiseSqrt(), matrix.rows()).array() + 0x1p-500;
}

BallMatrix inner_products(const BallMatrix& a, const BallMatrix& b) {
  const Index k = a.rows();
  BallMatrix product;
  product.middle.noalias() = a.middle.transpose() * b.middle;
  const VectorXd size_a = column_norms(a.middle), size_b = column_norms(b.middle);
  const VectorXd radius_a = column_norms(a.radius), radius_b = column_norms(b.radius);
  // ||A|| (gamma ||B|| + ||rB||) + ||rA|| (||B|| + ||rB||)
  product.radius = raised(
      size_a * (rounding_share(k) * size_b + radius_b).transpose() + radius_a * (size_b + radius_b).transpose(), 8);
  return product;
}

}  // namespace softcheck::numerics
