#pragma once

#include <Eigen/Core>

#include "models/bounds/dense.hpp"

namespace softcheck::models {

/// lower <= largest eigenvalue <= upper, for certain, of a symmetric matrix known as a ball, and a vector near to where
/// the lower end is reached.
struct LargestEigenvalue {
  double lower = 0;
  double upper = 0;
  Eigen::VectorXd vector;  // of length 1
};

/// The upper end by a verified Cholesky factorisation of upper I - S, the lower one by a Rayleigh quotient.
///
/// symmetric  (n, n), n >= 1, the middle exactly symmetric, positive semidefinite
/// throws     std::range_error where an entry is not bounded
LargestEigenvalue largest_eigenvalue(const numerics::BallMatrix& symmetric);

/// The same symmetric matrix with a middle that is symmetric bit for bit, which sums and products need not keep.
numerics::BallMatrix symmetrised(numerics::BallMatrix ball);

/// An upper bound of |S| for any matrix known as a ball: Frobenius.
double frobenius_upper(const Eigen::MatrixXd& matrix);

/// w^T S w as an interval.
numerics::Enclosure quadratic_form(const numerics::BallMatrix& symmetric, const numerics::BallMatrix& w);
/// v^T w as an interval.
numerics::Enclosure inner_product(const numerics::BallMatrix& v, const numerics::BallMatrix& w);

/// The root of what is known to be >= 0, however far below an enclosure of it reaches.
numerics::Enclosure nonnegative_root(const numerics::Enclosure& square);

/// What M z + c can be for |z|^2 <= r: an ellipsoid, given by M M^T.
struct AffineImage {
  numerics::BallMatrix gram;    // M M^T (n, n)
  numerics::BallMatrix offset;  // c (n, 1)
  double radius_square = 0;     // r

  /// Of X M and X c, X exactly as given.
  AffineImage mapped(const Eigen::MatrixXd& x) const;
  /// X = diag(weights), weights (n, 1).
  AffineImage scaled(const numerics::BallMatrix& weights) const;
  /// M z for z = +-sqrt(r) M^T w / |M^T w|, shortened by a few roundings so that |z|^2 <= r is certain; zero where w
  /// says nothing.
  numerics::BallMatrix point_towards(const Eigen::VectorXd& w) const;
  bool centred() const { return (offset.middle.array() == 0).all() && (offset.radius.array() == 0).all(); }
};

/// (1 + 1/t) r M M^T + (1 + t) c c^T: no |v . x| of the image is above the root of v^T G v, t > 0.
numerics::BallMatrix ellipsoid_gram(const AffineImage& image, double t);

/// N with N N^T >= S for every matrix of the ball.
///
/// throws   std::range_error where an entry is not bounded
Eigen::MatrixXd factor_above(const numerics::BallMatrix& symmetric);

/// The largest |M z + c|^2 over the ball |z|^2 <= r.
struct LargestSquare {
  double lower = 0;           // reached by a z of the ball
  double upper = 0;           // certified
  Eigen::VectorXd direction;  // z = sqrt(r) M^T w / |M^T w| comes near to it: w
};

/// theory/norm_ellipsoid.hpp, "best": lambda_max((1 + 1/t) r M M^T + (1 + t) c c^T) for the t at which it is least.
LargestSquare largest_square(const AffineImage& image);
/// The same without a certificate: for a search.
double estimated_largest_square(const AffineImage& image);

}  // namespace softcheck::models
