#pragma once

#include <Eigen/Core>

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::numerics {

/// Cholesky factor of shift I - S with a bound of what it misses. The factorisation is not trusted: whatever L holds,
///     S <= (shift + residual) I    because    shift I - S = L L^T + (shift I - S - L L^T) >= -residual I.
struct VerifiedCholesky {
  bool factored = false;  // false: the factorisation broke off, and residual means nothing
  Eigen::MatrixXd lower;  // L; its upper triangle is zero
  Enclosure residual;     // upper end: rigorous bound of ||shift I - S - L L^T||_2
};

/// symmetric  (n, n), n >= 1, its lower triangle is read, entries within [-2^500, 2^500]     shift   of that size too
/// error      residual: docs/tolerances/singular_values.md, section 3
VerifiedCholesky verified_cholesky(const Eigen::MatrixXd& symmetric, double shift);

/// Row sums of |S| for a symmetric S of which the lower triangle is stored, each true to gamma_n from below and above:
/// their maximum bounds ||S||_2 (the inf-norm of a symmetric matrix).
Eigen::VectorXd absolute_row_sums(const Eigen::MatrixXd& symmetric);

}  // namespace softcheck::numerics
