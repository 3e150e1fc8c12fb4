#pragma once

#include <Eigen/Core>
#include <functional>
#include <vector>

#include "models/bounds/head_values.hpp"
#include "models/bounds/token_table.hpp"
#include "theory/rotary_positions.hpp"

namespace softcheck::models {

/// g = M x / sigma(x) + c of a centred input x, sigma^2 = |x|^2 / d + epsilon. M and c are known up to their radii, in
/// the norms of Frobenius and Euclid.
struct InputMap {
  Eigen::MatrixXd linear;  // (n, d)
  double linear_radius = 0;
  Eigen::VectorXd constant;  // (n)
  double constant_radius = 0;
};

/// The largest |g| over all inputs of a table.
struct LargestImage {
  double upper = 0;  // certified
  TokenInput at;     // where it is in doubles
};

/// For each map its largest image over every token with every position and type. The table of tokens is read once; an
/// input's sigma couples its parts through one inner product.
///
/// maps      at least one, all of one n
/// threads   >= 1
/// stop      asked between blocks of tokens: true ends the work without a result
/// throws    std::range_error where an input's parts cancel so far that roundings decide its sigma, or a square of one
///           overflows
std::vector<LargestImage> largest_images(const TokenTable& table, const std::vector<InputMap>& maps, unsigned threads,
                                         const std::function<bool()>& stop);

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
