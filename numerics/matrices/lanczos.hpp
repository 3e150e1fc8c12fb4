#pragma once

#include <Eigen/Core>
#include <functional>

namespace softcheck::numerics {

/// An approximate largest eigenpair, not certified: callers prove a bound from it.
struct RitzPair {
  double value = 0;
  double residual = 0;  // ||S x - value x||, estimated by Lanczos
  bool converged = false;
  Eigen::VectorXd vector;
};

/// x -> S x for a symmetric S.
using SymmetricOperator = std::function<Eigen::VectorXd(const Eigen::VectorXd&)>;

/// One sweep of Lanczos iteration with full reorthogonalisation, at most 128 steps; converged if the error of the value
/// (residual^2 / gap) is below its rounding.
///
/// start    (n), n >= 1, not zero
RitzPair largest_ritz_pair(const SymmetricOperator& apply, const Eigen::VectorXd& start);

/// The same from a fixed start without a preferred direction, so that all runs are equal.
///
/// symmetric  (n, n), n >= 1; only its lower triangle is read
RitzPair largest_ritz_pair(const Eigen::MatrixXd& symmetric);

}  // namespace softcheck::numerics
