#pragma once

#include <Eigen/Core>

#include "experiments/max_retrieval_layout.hpp"
#include "experiments/max_retrieval_sets.hpp"

namespace softcheck::experiments {

// The network in plain doubles: what the proposals for Coq's checkers are chosen by. Nothing rests on their accuracy.

/// One affine layer: (outputs, inputs) and (outputs).
struct PlainLayer {
  Eigen::MatrixXd weights;
  Eigen::VectorXd biases;
  Eigen::VectorXd operator()(const Eigen::VectorXd& x) const { return weights * x + biases; }
};

PlainLayer plain_layer(const Floats& parameters, Layer layer);

/// GELU in its form with tanh, and the slope that theory/proofs/certified_network/gelu_slope.v proves to be its largest
/// or more.
double tanh_gelu(double x);
inline constexpr double gelu_slope_bound = 1.15;

}  // namespace softcheck::experiments
