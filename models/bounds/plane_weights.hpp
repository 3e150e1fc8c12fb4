#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/architectures/description.hpp"
#include "models/bounds/affine_image.hpp"
#include "numerics/matrices/ball_matrix.hpp"
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

/// The planes of a head's coordinates.
std::vector<theory::Plane> planes_of(const Rotary& rotary, Eigen::Index head_dim);

/// R^T u, certain, where R turns each plane by factor times its frequency.
numerics::BallMatrix turned_back(const numerics::BallMatrix& u, const std::vector<theory::Plane>& planes,
                                 const std::vector<numerics::Enclosure>& frequencies, double factor);

/// Queries and keys in coordinates that leave every logit as it is.
struct BalancedImages {
  AffineImage query, key;
};

/// The coordinates that are not rotated in the basis in which both Gram matrices are one diagonal matrix. With T in the
/// place of that block, q . R k = (T^T q) . R (T^-1 k) at every lag, as R is the identity there. In this basis a weight
/// a coordinate loses nothing within the block; in the stored one it loses whatever the coordinates share.
///
/// returns   nothing where fewer than two coordinates are not rotated, or no basis is certain
std::optional<BalancedImages> balanced_unrotated(const AffineImage& query, const AffineImage& key,
                                                 std::span<const theory::Plane> planes);

/// An upper bound of |q . R_m k| for lags m = 0 ... lags - 1 alone, where rotary_positions.hpp bounds every lag: what
/// an input of that many items can reach. Lag by lag it is norm_ellipsoid.hpp's "best" with the key turned, exactly
/// where neither side has an offset.
///
/// both_ways   keys stand behind their query, too
/// throws      std::range_error where the images leave the range of double
double largest_lagged_product(const AffineImage& query, const AffineImage& key, const Rotary& rotary, std::int64_t lags,
                              bool both_ways);

}  // namespace softcheck::models
