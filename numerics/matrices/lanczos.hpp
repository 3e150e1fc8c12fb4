#pragma once

#include <Eigen/Core>
#include <functional>

namespace softcheck::numerics {

/// An approximate largest eigenpair. It is not certified: the callers prove a bound from it.
struct RitzPair {
  double value = 0;
  double residual = 0;  // ||S x - value x||, as Lanczos estimates it
  bool converged = false;
  Eigen::VectorXd vector;
};

/// x -> S x for a symmetric S.
using SymmetricOperator = std::function<Eigen::VectorXd(const Eigen::VectorXd&)>;

/// One sweep of Lanczos iteration with full reorthogonalisation, of at most 128 steps; converged when the error of the
/// value (residual^2 / gap) is below its rounding.
///
/// start    (n), n >= 1, not zero
RitzPair largest_ritz_pair(const SymmetricOperator& apply, const Eigen::VectorXd& start);

/// From a fixed start that favours no direction: every run is the same.
///
/// symmetric  (n, n), n >= 1, its lower triangle is read
RitzPair largest_ritz_pair(const Eigen::MatrixXd& symmetric);

}  // namespace softcheck::numerics
