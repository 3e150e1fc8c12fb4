#pragma once

#include <Eigen/Core>
#include <vector>

#include "models/architectures/description.hpp"
#include "numerics/matrices/ball_matrix.hpp"
#include "theory/rotary_positions.hpp"

namespace softcheck::models {

/// The planes of a head's coordinates.
std::vector<theory::Plane> planes_of(const Rotary& rotary, Eigen::Index head_dim);

/// R^T u, certain, where R turns each plane by factor times its frequency.
numerics::BallMatrix turned_back(const numerics::BallMatrix& u, const std::vector<theory::Plane>& planes,
                                 const std::vector<numerics::Enclosure>& frequencies, double factor);

}  // namespace softcheck::models
