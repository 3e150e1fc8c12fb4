#pragma once

#include <functional>
#include <vector>

#include "proptests/engine/property.hpp"
#include "proptests/generators/matrices/matrix.hpp"
#include "theory/rotary_positions.hpp"

namespace softcheck::proptests {

// A ProjectionCase as a head behind norms: z its y, x_j its items, the smallest balls around them.
using BallCheck = std::function<Certificates(const ProjectionCase&)>;

/// Small heads: each case is asked in several ways.
rc::Gen<ProjectionCase> ball_head_cases();

/// The inputs of with_near_extremal(), and the query that sees its keys most: z along A^T B B^T (A z + a), the items
/// opposed. Scale 1/sqrt(d).
std::vector<theory::BallHead> ball_heads(const ProjectionCase& projection);

/// The t whose ellipsoid is the least, were its terms parallel; 1 where there is none.
double balanced_t(const theory::BallHead& head);

/// c + i s = ((1 + i 2^-p)^2/(1 + 4^-p))^lag in plane p, exactly: the turns of rotary positions with the frequencies
/// 2 atan(2^-p).
std::vector<theory::Turn<numerics::Enclosure>> turns_at_lag(std::size_t planes, unsigned lag);

/// The ball heads with their items at the lags 0, 1, ..., then all items at lag 0, then all a quarter turn away; planes
/// half-split or interleaved, a last odd coordinate not rotated; weights that balance the traces of A and B by plane.
std::vector<theory::RotaryHead> rotary_heads(const ProjectionCase& projection);

/// Gains from the first columns of Q and K, vectors Q y and K x_j; and one coordinate of the plane with the largest
/// gain for each, where the bound is attained.
std::vector<theory::QkNormHead> qk_norm_heads(const ProjectionCase& projection);

}  // namespace softcheck::proptests
