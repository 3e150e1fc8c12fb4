#pragma once

#include <Eigen/Core>

namespace softcheck::numerics {

/// An approximate largest eigenpair. Nothing about it is certified: it proposes, others prove.
struct RitzPair {
  double value = 0;
  double residual = 0;  // ||S x - value x||, as Lanczos estimates it
  Eigen::VectorXd vector;
};

/// Lanczos iteration with full reorthogonalisation from a fixed start, restarted from its best vector, until the error
/// of the value (residual^2 / gap) is below its rounding.
///
/// symmetric  (n, n), n >= 1, its lower triangle is read
RitzPair largest_ritz_pair(const Eigen::MatrixXd& symmetric);

}  // namespace softcheck::numerics
