#pragma once

#include <cstdint>

#include "models/architectures/description.hpp"
#include "models/bounds/affine_image.hpp"

namespace softcheck::models {

/// An upper bound of |q . R_m k| for lags m = 0 ... lags - 1 alone, where rotary_positions.hpp bounds every lag: what
/// an input of that many items can reach. Lag by lag it is norm_ellipsoid.hpp's "best" with the key turned, exactly
/// where neither side has an offset.
///
/// both_ways   keys stand behind their query, too
/// throws      std::range_error where the images leave the range of double
double largest_lagged_product(const AffineImage& query, const AffineImage& key, const Rotary& rotary, std::int64_t lags,
                              bool both_ways);

}  // namespace softcheck::models
