#pragma once

#include <Eigen/Core>
#include <vector>

#include "numerics/enclosures/enclosure.hpp"
#include "theory/enclosed_matrix.hpp"
#include "theory/scalar.hpp"

namespace softcheck::theory {

/// The weights of an ellipsoid: (x + y)^2 <= linear x^2/r + constant y^2 for every t > 0, with equality at t = x/y.
template <Scalar T>
struct EllipsoidWeights {
  T linear;    // (1 + 1/t) r
  T constant;  // 1 + t
};
template <Scalar T>
EllipsoidWeights<T> ellipsoid_weights(const T& t, const T& r) {
  return {(T(1) + T(1) / t) * r, T(1) + t};
}

/// q = A z + a or k = B x + b over the ball |z|^2 <= radius_square.
struct AffineBall {
  Eigen::MatrixXd matrix;  // (d, p)
  Eigen::VectorXd offset;  // (d)
  double radius_square = 0;
};

/// N N^T = sum weight_i n_i n_i^T, n_i the columns of a matrix.
struct WeightedFactor {
  Eigen::MatrixXd columns;                   // (d, m)
  std::vector<numerics::Enclosure> weights;  // (m), each >= 0
};

/// An upper bound of max |M z + c|^2 over |z|^2 <= r: lambda_max((1 + 1/t) r M M^T + (1 + t) c c^T) by one sigma.
///
/// columns  of M          t        > 0 and finite          throws   std::invalid_argument if t is not
double largest_square(const EnclosedColumns& columns, const std::vector<numerics::Enclosure>& constant,
                      const numerics::Enclosure& radius_square, double t, const SigmaUpper& sigma = certified_sigma());
/// The same for |N^T (A z + a)|^2 over the ball.
///
/// throws   std::invalid_argument also if shapes do not fit
double largest_square(const AffineBall& ball, const WeightedFactor& factor, double t,
                      const SigmaUpper& sigma = certified_sigma());

}  // namespace softcheck::theory
