#pragma once

#include <Eigen/Core>

namespace softcheck::models {

/// W x, or W^T x: Eigen's, or with AVX-512 our own of its instructions, which Eigen leaves out of a build for all
/// machines.
///
/// weights  (outputs, inputs), or (inputs, outputs) where transposed
/// x        (inputs, n)
/// result   (outputs, n), overwritten
void multiply(const Eigen::MatrixXd& weights, bool transposed, const Eigen::Ref<const Eigen::MatrixXd>& x,
              Eigen::Ref<Eigen::MatrixXd> result);

}  // namespace softcheck::models
