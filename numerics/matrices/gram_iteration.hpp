#pragma once

#include <Eigen/Core>

#include "numerics/matrices/singular_value.hpp"

namespace softcheck::numerics {

/// A second method for the largest singular value: without factorisation or eigenvector, only by squarings. With G = A
/// A^T and r the rank of A,
///    || G^(2^p) ||_F^(1/2^(p+1)) r^(-1/2^(p+2)) <= sigma <= || G^(2^p) ||_F^(1/2^(p+1)),
/// with a power of two taken out before each squaring and all roundings bounded. (Delattre, Barthelemy, Araujo,
/// Allauzen: Efficient bound of Lipschitz constant for convolutional layers by Gram iteration, ICML 2023, has the upper
/// end in exact arithmetic; docs/tolerances/singular_values.md, section 6, has the rest.)
///
/// matrix     any shape, finite; [0, 0] for the empty matrix and the zero matrix
/// squarings  p in [0, 60]: the relative width is about ln(m) / 2^(p+2), m the shorter side
/// cost       m^2 k + p m^3 flops
/// throws     std::invalid_argument if an entry is infinite or NaN, or squarings out of range
SingularValueEnclosure gram_iteration(const Eigen::Ref<const Eigen::MatrixXd>& matrix, int squarings = 12);
SingularValueEnclosure gram_iteration(const Eigen::Ref<const Eigen::MatrixXf>& matrix, int squarings = 12);

}  // namespace softcheck::numerics
