#include "models/bounds/affine_image.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "numerics/matrices/lanczos.hpp"
#include "numerics/matrices/verified_cholesky.hpp"

namespace softcheck::models {
namespace {

// Where lambda r + lambda c^T (lambda I - P)^(-1) c is least over lambda > lambda_max(P): its weight t and the
// direction.
struct DualPoint {
  double t = 1;
  double value = 0;
  VectorXd direction;
};

DualPoint dual_point(const MatrixXd& gram, const VectorXd& offset, double r) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(gram);
  const VectorXd& eigenvalues = solver.eigenvalues();
  const VectorXd shares = solver.eigenvectors().transpose() * offset;
  const double top = std::max(eigenvalues.tail(1)(0), 0.0);
  if (!(top > 0)) return {1, offset.squaredNorm(), VectorXd::Zero(offset.size())};  // z moves nothing
  // r - sum c_i^2 p_i / (lambda - p_i)^2 grows with lambda.
  const auto slope = [&](double lambda) {
    double sum = 0;
    for (Index i = 0; i < shares.size(); ++i) {
      const double gap = lambda - eigenvalues(i);
      sum += shares(i) * shares(i) * std::max(eigenvalues(i), 0.0) / (gap * gap);
    }
    return r - sum;
  };
  double low = top * (1 + 1e-14), high = top + offset.norm() * std::sqrt(top / r) + 1e-300;
  high = std::max(high, low * (1 + 1e-12));
  for (int step = 0; step < 200 && high - low > 1e-13 * high; ++step) {
    const double middle = low + (high - low) / 2;
    (slope(middle) < 0 ? low : high) = middle;
  }
  VectorXd scaled = shares;
  for (Index i = 0; i < shares.size(); ++i) scaled(i) /= high - eigenvalues(i);
  DualPoint point;
  point.direction = solver.eigenvectors() * scaled;
  // In the hard case the offset has no share in the top direction, which carries what is left of |z|^2 = r.
  const double used = scaled.dot(eigenvalues.cwiseMax(0).asDiagonal() * scaled);
  if (used < 0.999 * r && top > 0) {
    point.direction += solver.eigenvectors().rightCols(1) * std::sqrt((r - used) / top);
  }
  const VectorXd image = gram * point.direction + offset;
  const double length = image.norm(), along = std::fabs(image.dot(offset)) / std::max(length, 1e-300);
  point.value = length * length;
  point.t = std::clamp((length - along) / std::max(along, 1e-300), 1e-12, 1e12);
  return point;
}

}  // namespace

BallMatrix symmetrised(BallMatrix ball) {
  const MatrixXd half = (ball.middle + ball.middle.transpose()) / 2;
  const MatrixXd moved = (half - ball.middle).cwiseAbs() * 2;  // twice: what its own rounding can take
  ball.radius = numerics::raised(ball.radius.cwiseMax(ball.radius.transpose()) + moved, 4);
  ball.middle = half;
  return ball;
}

double frobenius_upper(const MatrixXd& matrix) {
  return numerics::column_norms(Eigen::Map<const VectorXd>(matrix.data(), matrix.size()))(0);
}

Enclosure inner_product(const BallMatrix& v, const BallMatrix& w) { return inner_products(v, w)(0, 0); }

Enclosure quadratic_form(const BallMatrix& symmetric, const BallMatrix& w) { return inner_product(w, symmetric * w); }

Enclosure nonnegative_root(const Enclosure& square) { return sqrt(maximum(square, Enclosure())); }

LargestEigenvalue largest_eigenvalue(const BallMatrix& symmetric) {
  if (!symmetric.all_finite()) throw std::range_error("largest_eigenvalue: an entry leaves the range of double");
  // Row sums of absolute values bound the norm where no factorisation goes through.
  const double size = numerics::raised(numerics::absolute_row_sums(symmetric.middle), symmetric.rows()).maxCoeff();
  const double radius = frobenius_upper(symmetric.radius);
  if (!std::isfinite(4 * size) || !std::isfinite(radius)) {
    throw std::range_error("largest_eigenvalue: it leaves the range of double");
  }
  const numerics::RitzPair top = numerics::largest_ritz_pair(symmetric.middle);
  LargestEigenvalue result;
  result.vector = top.vector;
  const Enclosure length = inner_product(BallMatrix::exactly(top.vector), BallMatrix::exactly(top.vector));
  const Enclosure rayleigh = quadratic_form(symmetric, BallMatrix::exactly(top.vector)) / length;
  result.lower = std::max(rayleigh.lower_double(), 0.0);
  for (double share = 0x1p-44;; share *= 16) {
    const double shift = top.value * (1 + share) + 0x1p-900;
    const numerics::VerifiedCholesky factor = numerics::verified_cholesky(symmetric.middle, shift);
    if (!factor.factored && share < 1) continue;
    const Enclosure norm = factor.factored ? Enclosure(shift) + factor.residual : Enclosure(size);
    result.upper = (norm + Enclosure(radius)).upper_double();
    if (!std::isfinite(result.upper)) throw std::range_error("largest_eigenvalue: it leaves the range of double");
    return result;
  }
}

BallMatrix ellipsoid_gram(const AffineImage& image, double t) {
  const Enclosure linear = (Enclosure(1) + Enclosure(1) / Enclosure(t)) * Enclosure(image.radius_square);
  const auto constant = [](Index rows, Index columns, const Enclosure& value) {
    const double middle = value.midpoint();
    const double off = (maximum(value - Enclosure(middle), Enclosure(middle) - value)).upper_double();
    return BallMatrix{MatrixXd::Constant(rows, columns, middle), MatrixXd::Constant(rows, columns, off)};
  };
  const Index n = image.gram.rows();
  BallMatrix sum = entrywise_product(image.gram, constant(n, n, linear));
  if (!image.centred()) {
    const BallMatrix root = entrywise_product(image.offset, constant(n, 1, sqrt(Enclosure(1) + Enclosure(t))));
    sum = sum + root * root.transpose();
  }
  return symmetrised(std::move(sum));
}

MatrixXd factor_above(const BallMatrix& symmetric) {
  if (!symmetric.all_finite()) throw std::range_error("factor_above: an entry leaves the range of double");
  const double radius = frobenius_upper(symmetric.radius);
  const double size = numerics::raised(numerics::absolute_row_sums(symmetric.middle), symmetric.rows()).maxCoeff();
  const MatrixXd negative = -symmetric.middle;
  for (double shift = 2 * radius + 0x1p-46 * size; shift <= 4 * size + 1; shift *= 8) {
    // shift I + S = N N^T + E, |E| <= residual.
    const numerics::VerifiedCholesky factor = numerics::verified_cholesky(negative, shift);
    if (factor.factored && (Enclosure(shift) - factor.residual - Enclosure(radius)).certainly_nonnegative()) {
      return factor.lower;
    }
  }
  throw std::range_error("factor_above: no shift makes the matrix positive definite");
}

AffineImage AffineImage::mapped(const MatrixXd& x) const {
  const BallMatrix map = BallMatrix::exactly(x);
  return {symmetrised(map * gram * map.transpose()), map * offset, radius_square};
}

AffineImage AffineImage::scaled(const BallMatrix& weights) const {
  return {symmetrised(entrywise_product(gram, weights * weights.transpose())), entrywise_product(offset, weights),
          radius_square};
}

BallMatrix AffineImage::point_towards(const VectorXd& w) const {
  const BallMatrix direction = BallMatrix::exactly(w);
  const BallMatrix image = gram * direction;
  const double square = inner_product(direction, image).upper_double();
  if (!(square > 0) || !std::isfinite(square)) return BallMatrix::exactly(MatrixXd::Zero(w.size(), 1));
  const double factor = (sqrt(Enclosure(radius_square) / Enclosure(square))).lower_double();
  return entrywise_product(image, BallMatrix::exactly(MatrixXd::Constant(w.size(), 1, factor)));
}

double estimated_largest_square(const AffineImage& image) {
  if (image.centred()) return image.radius_square * numerics::largest_ritz_pair(image.gram.middle).value;
  return dual_point(image.gram.middle, image.offset.middle, image.radius_square).value;
}

LargestSquare largest_square(const AffineImage& image) {
  LargestSquare result;
  if (image.centred()) {
    const LargestEigenvalue top = largest_eigenvalue(image.gram);
    result.lower = (Enclosure(top.lower) * Enclosure(image.radius_square)).lower_double();
    result.upper = (Enclosure(top.upper) * Enclosure(image.radius_square)).upper_double();
    result.direction = top.vector;
    return result;
  }
  const DualPoint point = dual_point(image.gram.middle, image.offset.middle, image.radius_square);
  result.direction = point.direction;
  result.upper = largest_eigenvalue(ellipsoid_gram(image, point.t)).upper;
  const BallMatrix reached = image.point_towards(point.direction) + image.offset;
  result.lower = std::max(inner_product(reached, reached).lower_double(), 0.0);
  return result;
}

}  // namespace softcheck::models
