#pragma once

#include <Eigen/Core>

#include "numerics/enclosures/enclosure.hpp"
#include "numerics/matrices/ball_matrix.hpp"

namespace softcheck::models {

// What every bound is computed with.
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::RowVectorXd;
using Eigen::VectorXd;
using numerics::BallMatrix;
using numerics::Enclosure;

}  // namespace softcheck::models
