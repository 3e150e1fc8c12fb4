#pragma once

#include <functional>
#include <vector>

#include "proptests/engine/property.hpp"
#include "proptests/generators/matrices/matrix.hpp"
#include "theory/rotary_positions.hpp"

namespace softcheck::proptests {

// Checks a ProjectionCase as a head behind norms: z is its y, x_j are its items, in the smallest balls around them.
using BallCheck = std::function<Certificates(const ProjectionCase&)>;

/// Small heads, because each case is tested in several ways.
rc::Gen<ProjectionCase> ball_head_cases();

/// The inputs of with_near_extremal(), and the query with the largest product with its keys: z along A^T B B^T (A z +
/// a), with opposite items. Scale 1/sqrt(d).
std::vector<theory::BallHead> ball_heads(const ProjectionCase& projection);

/// The t of the smallest ellipsoid if its terms were parallel; 1 if there is none.
double balanced_t(const theory::BallHead& head);

/// c + i s = ((1 + i 2^-p)^2/(1 + 4^-p))^lag in plane p, exactly: the rotations of rotary positions with the
/// frequencies 2 atan(2^-p).
std::vector<theory::Turn<numerics::Enclosure>> turns_at_lag(std::size_t planes, unsigned lag);

/// The ball heads with their items at lags 0, 1, ..., then with all items at lag 0, then with all a quarter turn away;
/// with half-split and interleaved planes, where an odd last coordinate is not rotated; with weights that balance the
/// traces of A and B per plane.
std::vector<theory::RotaryHead> rotary_heads(const ProjectionCase& projection);

/// Gains from the first columns of Q and K, vectors Q y and K x_j; and for each head the one coordinate of the plane
/// with the largest gain, which attains the bound.
std::vector<theory::QkNormHead> qk_norm_heads(const ProjectionCase& projection);

}  // namespace softcheck::proptests
