#include "theory/affine_ball.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "theory/vectors.hpp"

namespace softcheck::theory {

using numerics::Enclosure;

double largest_square(const EnclosedColumns& columns, const std::vector<Enclosure>& constant,
                      const Enclosure& radius_square, double t, const SigmaUpper& sigma) {
  if (!(t > 0 && std::isfinite(t))) throw std::invalid_argument("largest_square: need t > 0, got " + std::to_string(t));
  const numerics::PrecisionScope scope(113);
  EllipsoidWeights<Enclosure> weights = ellipsoid_weights(Enclosure(t), radius_square);
  // Without a constant the limit of large t is attained.
  const auto is_zero = [](const Enclosure& x) { return x.is_point() && x.contains(0.0); };
  if (std::all_of(constant.begin(), constant.end(), is_zero)) weights = {radius_square, Enclosure(0)};
  EnclosedColumns scaled = columns;
  for (std::vector<Enclosure>& column : scaled) {
    for (Enclosure& entry : column) entry *= sqrt(weights.linear);
  }
  scaled.push_back(constant);
  for (Enclosure& entry : scaled.back()) entry *= sqrt(weights.constant);
  return square(Enclosure(sigma_of(sigma, scaled))).upper_double();
}

double largest_square(const AffineBall& ball, const WeightedFactor& factor, double t, const SigmaUpper& sigma) {
  const bool fit = ball.matrix.rows() == ball.offset.size() && factor.columns.rows() == ball.matrix.rows() &&
                   factor.weights.size() == static_cast<std::size_t>(factor.columns.cols());
  if (!fit || !(ball.radius_square >= 0)) {
    throw std::invalid_argument("largest_square: need A (d, p), a (d), N (d, m), m weights and a radius >= 0");
  }
  const numerics::PrecisionScope scope(113);
  const Eigen::MatrixXd transposed = factor.columns.transpose();
  const auto seen = [&](const Eigen::VectorXd& x) {
    std::vector<Enclosure> result = multiply(transposed, as_scalars<Enclosure>(x));
    for (std::size_t i = 0; i < result.size(); ++i) result[i] *= sqrt(factor.weights[i]);
    return result;
  };
  EnclosedColumns columns;
  for (Eigen::Index j = 0; j < ball.matrix.cols(); ++j) columns.push_back(seen(ball.matrix.col(j)));
  return largest_square(columns, seen(ball.offset), Enclosure(ball.radius_square), t, sigma);
}

}  // namespace softcheck::theory
