#pragma once

#include <Eigen/Core>
#include <functional>
#include <vector>

#include "models/bounds/token_table.hpp"

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

}  // namespace softcheck::models
