#pragma once

#include <Eigen/Core>

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::numerics {

/// A Cholesky factor of shift I - S and a bound of its residual. The factorisation need not be correct: for any L,
///    S <= (shift + residual) I    because    shift I - S = L L^T + (shift I - S - L L^T) >= -residual I.
struct VerifiedCholesky {
  bool factored = false;  // false: the factorisation broke off; residual is then meaningless
  Eigen::MatrixXd lower;  // L; its upper triangle is zero
  Enclosure residual;     // its upper end is a rigorous bound of ||shift I - S - L L^T||_2
};

/// symmetric  (n, n), n >= 1; only its lower triangle is read; entries in [-2^500, 2^500]     shift   in the same range
/// error      residual: docs/tolerances/singular_values.md, section 3
VerifiedCholesky verified_cholesky(const Eigen::MatrixXd& symmetric, double shift);

/// Row sums of |S| for a symmetric S given by its lower triangle, each with a relative error of gamma_n in both
/// directions; their maximum bounds ||S||_2 (the inf-norm of a symmetric matrix).
Eigen::VectorXd absolute_row_sums(const Eigen::MatrixXd& symmetric);

}  // namespace softcheck::numerics
