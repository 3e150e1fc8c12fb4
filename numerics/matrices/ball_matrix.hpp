#pragma once

#include <Eigen/Core>

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::numerics {

/// Matrices of reals, each entry known to lie within radius of middle. Products of doubles as fast as Eigen's, every
/// rounding error of theirs added to the radius (docs/certificates.md, "Arithmetic").
///
/// Needs round-to-nearest without flush-to-zero (FpEnvironmentGuard).
struct BallMatrix {
  Eigen::MatrixXd middle;
  Eigen::MatrixXd radius;  // >= 0; a radius that is infinite or no number says that nothing is known

  static BallMatrix exactly(Eigen::MatrixXd matrix);
  Eigen::Index rows() const { return middle.rows(); }
  Eigen::Index cols() const { return middle.cols(); }
  bool all_finite() const { return middle.allFinite() && radius.allFinite(); }
  BallMatrix transpose() const { return {middle.transpose(), radius.transpose()}; }
  BallMatrix top_rows(Eigen::Index count) const { return {middle.topRows(count), radius.topRows(count)}; }
  /// One entry; throws std::range_error where it is not bounded.
  Enclosure operator()(Eigen::Index row, Eigen::Index column) const;
};

BallMatrix operator*(const BallMatrix& a, const BallMatrix& b);
/// Entry by entry.
BallMatrix operator+(const BallMatrix& a, const BallMatrix& b);
BallMatrix entrywise_product(const BallMatrix& a, const BallMatrix& b);
/// a plus the column b in every column.
BallMatrix add_to_columns(const BallMatrix& a, const BallMatrix& b);
/// The entry at (i, j) may move by as much as half(j) times that of slope in either direction.
BallMatrix widened(const BallMatrix& centre, const BallMatrix& slope, const Eigen::VectorXd& half);

/// Upper bounds of what nonnegative numbers were before rounding: sums, products and roots of nonnegative numbers, at
/// most k roundings deep.
Eigen::MatrixXd raised(const Eigen::MatrixXd& computed, Eigen::Index k);

/// Upper bounds of the Euclidean norms of the columns of a matrix of doubles.
Eigen::VectorXd column_norms(const Eigen::MatrixXd& matrix);

/// a^T b, one radius for each entry by Cauchy and Schwarz: one product of matrices instead of three.
///
/// a, b     of equally many rows
BallMatrix inner_products(const BallMatrix& a, const BallMatrix& b);

/// k u / (1 - k u) <= this for u = 2^-53 and k < 2^50, with room for the rounding of what it is multiplied by.
inline double rounding_share(Eigen::Index k) { return static_cast<double>(k) * 0x1p-52; }

/// What products and sums that end among the subnormal numbers can lose together.
inline constexpr double underflow_share = 0x1p-1000;

}  // namespace softcheck::numerics
