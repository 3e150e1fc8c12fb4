#pragma once

#include <Eigen/Core>
#include <vector>

#include "models/bounds/head_values.hpp"
#include "models/bounds/largest_image.hpp"
#include "theory/rotary_positions.hpp"

namespace softcheck::models {

// |q . k| <= |L q| |L^-T k| for every invertible L (Cauchy), and at every lag where L has one weight a plane. The
// maxima of both factors over finitely many inputs bound a head; L is searched for on a sample of them, in doubles.

/// L, and L^-T up to a radius in Frobenius' norm.
struct DualPair {
  Eigen::MatrixXd query;
  Eigen::MatrixXd key;
  double key_radius = 0;
};

/// throws   std::range_error where no inverse is certain
DualPair dual_pair(const Eigen::MatrixXd& query);

/// The map itself as radii in norms.
InputMap input_map(const HeadMap& map);
/// L (M x + c - centre), L off by at most its radius.
InputMap mapped(const InputMap& map, const Eigen::MatrixXd& l, double radius, const Eigen::VectorXd& centre);

/// The L of a few candidates with the least product of maxima over a sample: one weight a plane.
///
/// queries, keys   (head_dim, inputs)
Eigen::MatrixXd plane_form(const Eigen::MatrixXd& queries, const Eigen::MatrixXd& keys,
                           const std::vector<theory::Plane>& planes);
/// The same where nothing is turned: any L.
Eigen::MatrixXd full_form(const Eigen::MatrixXd& queries, const Eigen::MatrixXd& keys);

}  // namespace softcheck::models
