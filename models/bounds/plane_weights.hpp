#pragma once

#include <Eigen/Core>
#include <span>

#include "models/bounds/affine_image.hpp"
#include "theory/rotary_positions.hpp"

namespace softcheck::models {

/// One weight a plane (theory/rotary_positions.hpp: E), as the square roots of the weights of the coordinates.
///
/// Any positive weights are valid; these are searched for, in doubles, so that
/// max |E^(-1/2) q|^2 max |E^(1/2) k|^2 is small.
struct PlaneWeights {
  Eigen::VectorXd start;   // from the traces of both Grams in each plane: the form "joint"
  Eigen::VectorXd better;  // after the search: the form "best"
};

/// planes   of all coordinates, one each for those that are not turned
PlaneWeights search_plane_weights(const AffineImage& query, const AffineImage& key,
                                  std::span<const theory::Plane> planes);

}  // namespace softcheck::models
