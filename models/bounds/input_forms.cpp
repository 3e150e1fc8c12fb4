#include "models/bounds/input_forms.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "models/bounds/plane_weights.hpp"

namespace softcheck::models {
namespace {

// Directions in which a sample says nothing get this share of the mean: L stays well conditioned, so that its roundings
// stay far below a share of 1e-6 of a bound.
constexpr double ridge = 1e-4;

MatrixXd second_moments(const MatrixXd& columns) {
  MatrixXd moments = columns * columns.transpose() / static_cast<double>(std::max<Index>(columns.cols(), 1));
  const double mean = moments.trace() / static_cast<double>(moments.rows());
  moments.diagonal().array() += ridge * mean + 1e-300;
  return moments;
}

MatrixXd root_power(const MatrixXd& symmetric, double exponent) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(symmetric);
  const VectorXd powers = solver.eigenvalues().cwiseMax(1e-300).array().pow(exponent);
  return solver.eigenvectors() * powers.asDiagonal() * solver.eigenvectors().transpose();
}

double largest_norm(const MatrixXd& columns) { return std::sqrt(columns.colwise().squaredNorm().maxCoeff()); }

double product_of(const MatrixXd& l, const MatrixXd& queries, const MatrixXd& keys) {
  return largest_norm(l * queries) * largest_norm(l.transpose().partialPivLu().solve(keys));
}

MatrixXd best_of(const std::vector<MatrixXd>& candidates, const MatrixXd& queries, const MatrixXd& keys) {
  MatrixXd best = MatrixXd::Identity(queries.rows(), queries.rows());
  double least = product_of(best, queries, keys);
  for (const MatrixXd& candidate : candidates) {
    if (!candidate.allFinite()) continue;
    const double value = product_of(candidate, queries, keys);
    if (!(value < least)) continue;
    least = value;
    best = candidate;
  }
  // Of size 1: only the form counts.
  return best / best.cwiseAbs().maxCoeff();
}

// Squares of each plane's part of each column.
MatrixXd plane_squares(const MatrixXd& columns, const std::vector<theory::Plane>& planes) {
  MatrixXd squares(planes.size(), columns.cols());
  for (std::size_t p = 0; p < planes.size(); ++p) {
    const auto [first, second] = planes[p];
    squares.row(static_cast<Index>(p)) = columns.row(static_cast<Index>(first)).cwiseAbs2();
    if (first != second) squares.row(static_cast<Index>(p)) += columns.row(static_cast<Index>(second)).cwiseAbs2();
  }
  return squares;
}

// Downhill plane by plane on the sample's maxima.
VectorXd polished(VectorXd weights, const MatrixXd& queries, const MatrixXd& keys) {
  Eigen::RowVectorXd of_queries = weights.transpose() * queries, of_keys = weights.cwiseInverse().transpose() * keys;
  double least = of_queries.maxCoeff() * of_keys.maxCoeff();
  for (double step = 0.5; step > 0.05; step /= 2) {
    for (Index p = 0; p < weights.size(); ++p) {
      for (const double factor : {std::exp(step), std::exp(-step)}) {
        const double next = weights(p) * factor;
        const Eigen::RowVectorXd q = of_queries + (next - weights(p)) * queries.row(p);
        const Eigen::RowVectorXd k = of_keys + (1 / next - 1 / weights(p)) * keys.row(p);
        const double value = q.maxCoeff() * k.maxCoeff();
        if (!(value < least)) continue;
        least = value;
        of_queries = q;
        of_keys = k;
        weights(p) = next;
        break;
      }
    }
  }
  return weights;
}

AffineImage moments_image(const MatrixXd& columns) {
  const MatrixXd moments = second_moments(columns);
  return {symmetrised(BallMatrix::exactly(moments)), BallMatrix::exactly(MatrixXd::Zero(columns.rows(), 1)), 1};
}

double norm_of_all(const MatrixXd& matrix) { return frobenius_upper(matrix); }

}  // namespace

DualPair dual_pair(const MatrixXd& query) {
  DualPair pair{query, query.transpose().inverse(), 0};
  const Index n = query.rows();
  if (!pair.key.allFinite()) throw std::range_error("dual_pair: the form has no inverse");
  const BallMatrix product = BallMatrix::exactly(query.transpose()) * BallMatrix::exactly(pair.key);
  const MatrixXd off = numerics::raised((product.middle - MatrixXd::Identity(n, n)).cwiseAbs() + product.radius, 4);
  const Enclosure residual(norm_of_all(off));
  if (!(residual.upper_double() < 0.5)) throw std::range_error("dual_pair: the form's inverse is not certain");
  // L^-T - K = L^-T (I - L^T K), hence its norm is at most |K| r / (1 - r).
  pair.key_radius = (Enclosure(norm_of_all(pair.key)) * residual / (Enclosure(1) - residual)).upper_double();
  return pair;
}

InputMap input_map(const HeadMap& map) {
  return {map.linear.middle.transpose(), norm_of_all(map.linear.radius), map.constant.middle.col(0),
          norm_of_all(map.constant.radius)};
}

InputMap mapped(const InputMap& map, const MatrixXd& l, double radius, const VectorXd& centre) {
  const auto n = static_cast<double>(l.rows());
  const VectorXd constant = map.constant - centre;
  InputMap result{l * map.linear, 0, l * constant, 0};
  const Enclosure norm(norm_of_all(l)), off(radius), unit(0x1p-53);
  // A product of n numbers is off by n u of its factors' norms, the difference before it by u of its parts.
  const auto radius_of = [&](double size, double of_map) {
    return ((off + Enclosure(2 * n + 4) * unit * norm) * (Enclosure(size) + Enclosure(of_map)) +
            norm * Enclosure(of_map))
        .upper_double();
  };
  result.linear_radius = radius_of(norm_of_all(map.linear), map.linear_radius);
  result.constant_radius = radius_of(norm_of_all(map.constant) + norm_of_all(centre), map.constant_radius);
  return result;
}

MatrixXd plane_form(const MatrixXd& queries, const MatrixXd& keys, const std::vector<theory::Plane>& planes) {
  const MatrixXd of_queries = plane_squares(queries, planes), of_keys = plane_squares(keys, planes);
  const PlaneWeights found = search_plane_weights(moments_image(queries), moments_image(keys), planes);
  std::vector<MatrixXd> candidates;
  for (const VectorXd& roots : {found.start, found.better, VectorXd(VectorXd::Ones(queries.rows()))}) {
    // Queries are divided by the roots.
    VectorXd weights(planes.size());
    for (std::size_t p = 0; p < planes.size(); ++p) {
      const double root = roots(static_cast<Index>(planes[p].first));
      weights(static_cast<Index>(p)) = 1 / (root * root);
    }
    weights = polished(weights, of_queries, of_keys);
    VectorXd diagonal(queries.rows());
    for (std::size_t p = 0; p < planes.size(); ++p) {
      diagonal(static_cast<Index>(planes[p].first)) = std::sqrt(weights(static_cast<Index>(p)));
      diagonal(static_cast<Index>(planes[p].second)) = std::sqrt(weights(static_cast<Index>(p)));
    }
    candidates.emplace_back(diagonal.asDiagonal());
  }
  return best_of(candidates, queries, keys);
}

MatrixXd full_form(const MatrixXd& queries, const MatrixXd& keys) {
  const MatrixXd of_queries = second_moments(queries), of_keys = second_moments(keys);
  // L^T L = S: the keys' moments, the inverse of the queries', and the mean of both in the geometry of such matrices.
  const MatrixXd root = root_power(of_keys, 0.5), inverse = root_power(of_keys, -0.5);
  const MatrixXd middle =
      root_power(symmetrised(BallMatrix::exactly(inverse * root_power(of_queries, -1) * inverse)).middle, 0.5);
  const MatrixXd mean = symmetrised(BallMatrix::exactly(root * middle * root)).middle;
  return best_of({root, root_power(of_queries, -0.5), root_power(mean, 0.5)}, queries, keys);
}

}  // namespace softcheck::models
