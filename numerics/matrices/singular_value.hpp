#pragma once

#include <Eigen/Core>

namespace softcheck::numerics {

/// lower <= sigma <= upper, for certain.
struct SingularValueEnclosure {
  double lower = 0;
  double upper = 0;  // infinite if sigma may exceed the largest double

  bool is_point() const { return lower == upper; }
  /// (upper - lower) / lower for display; 0 for a point.
  double relative_width() const { return is_point() ? 0 : (upper - lower) / lower; }
};

/// A rigorous enclosure of the largest singular value, the 2-norm, of a matrix with exactly these entries.
///
/// matrix   any shape, finite; [0, 0] for the empty matrix and the zero matrix
/// returns  in the unit of the entries. With m the shorter and k the longer side: a single row or column, and integers
///          a with k a^2 < 2^53 (times any power of two) whose A A^T is diagonal, of rank one, or has a nonnegative
///          integer eigenvector up to signs (Hadamard, permutation, diagonal matrices): the tightest enclosure, a point
///          if sigma is a double; other such integers with m <= 48: at most 2 ulp
/// error    relative width otherwise: docs/tolerances/singular_values.md, section 7; below 1e-10 for a normal random
///          matrix of 2048 x 2048
/// cost     m^2 k + 2 m^3 / 3 flops
/// throws   std::invalid_argument if an entry is infinite or NaN
SingularValueEnclosure largest_singular_value(const Eigen::Ref<const Eigen::MatrixXd>& matrix);
SingularValueEnclosure largest_singular_value(const Eigen::Ref<const Eigen::MatrixXf>& matrix);

/// A second method for the largest singular value: without factorisation or eigenvector, only by squarings. With G = A
/// A^T and r the rank of A,
///    || G^(2^p) ||_F^(1/2^(p+1)) r^(-1/2^(p+2)) <= sigma <= || G^(2^p) ||_F^(1/2^(p+1)),
/// with a power of two taken out before each squaring and all roundings bounded. (Delattre, Barthelemy, Araujo,
/// Allauzen: Efficient bound of Lipschitz constant for convolutional layers by Gram iteration, ICML 2023, has the upper
/// end in exact arithmetic; docs/tolerances/singular_values.md, section 6, has the rest.)
///
/// matrix     any shape, finite; [0, 0] for the empty matrix and the zero matrix
/// squarings  p in [0, 60]: the relative width is about ln(m) / 2^(p+2), m the shorter side
/// cost       m^2 k + p m^3 flops
/// throws     std::invalid_argument if an entry is infinite or NaN, or squarings out of range
SingularValueEnclosure gram_iteration(const Eigen::Ref<const Eigen::MatrixXd>& matrix, int squarings = 12);
SingularValueEnclosure gram_iteration(const Eigen::Ref<const Eigen::MatrixXf>& matrix, int squarings = 12);

}  // namespace softcheck::numerics
