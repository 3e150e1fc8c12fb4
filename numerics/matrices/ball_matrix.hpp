#pragma once

#include <Eigen/Core>

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::numerics {

/// Matrices of reals, each entry within radius of middle. Products are as fast as Eigen's, with all their rounding
/// errors added to the radius (docs/certificates.md, "Arithmetic").
///
/// Needs round-to-nearest without flush-to-zero (FpEnvironmentGuard).
struct BallMatrix {
  Eigen::MatrixXd middle;
  Eigen::MatrixXd radius;  // >= 0; infinite or NaN: nothing is known

  static BallMatrix exactly(Eigen::MatrixXd matrix);
  Eigen::Index rows() const { return middle.rows(); }
  Eigen::Index cols() const { return middle.cols(); }
  bool all_finite() const { return middle.allFinite() && radius.allFinite(); }
  BallMatrix transpose() const { return {middle.transpose(), radius.transpose()}; }
  BallMatrix top_rows(Eigen::Index count) const { return {middle.topRows(count), radius.topRows(count)}; }
  /// One entry; throws std::range_error if it is not bounded.
  Enclosure operator()(Eigen::Index row, Eigen::Index column) const;
};

BallMatrix operator*(const BallMatrix& a, const BallMatrix& b);
/// Entry by entry.
BallMatrix operator+(const BallMatrix& a, const BallMatrix& b);
BallMatrix entrywise_product(const BallMatrix& a, const BallMatrix& b);
/// Adds the column b to every column of a.
BallMatrix add_to_columns(const BallMatrix& a, const BallMatrix& b);
/// Entry (i, j) of the centre may move by half(j) times that of slope in either direction.
BallMatrix widened(const BallMatrix& centre, const BallMatrix& slope, const Eigen::VectorXd& half);

/// Upper bounds of nonnegative numbers from their computed values: sums, products and roots of nonnegative numbers with
/// at most k roundings.
Eigen::MatrixXd raised(const Eigen::MatrixXd& computed, Eigen::Index k);

/// Upper bounds of the Euclidean norms of a matrix's columns.
Eigen::VectorXd column_norms(const Eigen::MatrixXd& matrix);

/// a^T b, with a radius per entry from the Cauchy-Schwarz inequality: one matrix product instead of three.
///
/// a, b     the same number of rows
BallMatrix inner_products(const BallMatrix& a, const BallMatrix& b);

/// At least k u / (1 - k u) for u = 2^-53 and k < 2^50, including the rounding of the product with it.
inline double rounding_share(Eigen::Index k) { return static_cast<double>(k) * 0x1p-52; }

/// Total loss of products and sums that end among the subnormal numbers.
inline constexpr double underflow_share = 0x1p-1000;

}  // namespace softcheck::numerics
