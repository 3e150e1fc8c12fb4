#pragma once

#include <optional>
#include <span>

#include "models/bounds/affine_image.hpp"
#include "theory/rotary_positions.hpp"

namespace softcheck::models {

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

}  // namespace softcheck::models
