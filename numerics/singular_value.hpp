#pragma once

#include <Eigen/Core>

namespace softcheck::numerics {

/// lower <= sigma <= upper, for certain.
struct SingularValueEnclosure {
  double lower = 0;
  double upper = 0;  // infinite where sigma may exceed the largest double

  bool is_point() const { return lower == upper; }
  /// (upper - lower) / lower for display; 0 for a point.
  double relative_width() const { return is_point() ? 0 : (upper - lower) / lower; }
};

/// Rigorous enclosure of the largest singular value, the 2-norm, of a matrix taken as it is, entry by entry.
///
/// matrix   any shape, finite; the empty matrix and the zero matrix have [0, 0]
/// returns  in the unit of the entries. With m the shorter and k the longer side, the relative width is about
///          (gamma_k |B||B|^T + gamma_m |L||L|^T) / (2 sigma^2), docs/tolerances/singular_values.md: below 1e-9 for a
///          normal random matrix of 2048 x 2048. A single row or column: the tightest enclosure, a point where the
///          value is a double. Small integers (m = longer side: m a^2 < 2^53, times any power of two): the tightest
///          enclosure when A A^T is diagonal, of rank one, or has a nonnegative eigenvector of small integers up to
///          signs, hence Hadamard, permutation and diagonal matrices; at most 2 ulp when its shorter side is at
///          most 48.
/// cost     m^2 k + 2 m^3 / 3 flops
/// throws   std::invalid_argument when an entry is infinite or not a number
SingularValueEnclosure largest_singular_value(const Eigen::Ref<const Eigen::MatrixXd>& matrix);
SingularValueEnclosure largest_singular_value(const Eigen::Ref<const Eigen::MatrixXf>& matrix);

}  // namespace softcheck::numerics
