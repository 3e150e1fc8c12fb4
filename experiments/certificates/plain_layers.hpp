#pragma once

#include <Eigen/Core>

#include "experiments/certificates/logit_bounds.hpp"
#include "experiments/max_retrieval_layout.hpp"
#include "experiments/max_retrieval_sets.hpp"
#include "numerics/enclosures/certificate.hpp"
#include "numerics/formats/format.hpp"

namespace softcheck::experiments {

// The network in plain doubles, to choose proposals for Coq's checkers. No proof depends on its accuracy.

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

/// model.overflow.FORMAT: the largest |q . k| over the domain, keys with their bias, not yet divided by sqrt(128), is
/// below the largest number of the format; violated where the witness's is above. model.overflow.FORMAT.scaled: the
/// same of the logits after the division. Of exact inner products: a kernel that adds up in the format itself may
/// overflow on the way.
std::vector<numerics::Certificate> certify_no_overflow(const SizeBound& size, numerics::Format format);

}  // namespace softcheck::experiments
