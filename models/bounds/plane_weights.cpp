#include "models/bounds/plane_weights.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

namespace softcheck::models {
namespace {

// (1 + 1/t) r P + (1 + t) c c^T with the t that balances both terms' traces' roots: near to the best for every weight.
MatrixXd ellipsoid_of(const AffineImage& image) {
  MatrixXd gram = image.radius_square * image.gram.middle;
  if (image.centred()) return gram;
  const double offset = image.offset.middle.norm();
  const double spread = std::sqrt(std::max(gram.trace() / static_cast<double>(gram.rows()), 1e-300));
  const double t = spread / std::max(offset, 1e-300) * 2;
  gram *= 1 + 1 / t;
  gram += (1 + t) * image.offset.middle * image.offset.middle.transpose();
  return gram;
}

// f(l) = (ln tr (E^(-1/2) P E^(-1/2))^k + ln tr (E^(1/2) Q E^(1/2))^k) / k with E = diag(e^(l_p)): convex in l, and it
// tends to the logarithm of the product of both largest eigenvalues. Its gradient is the share of each plane in the
// trace of the second power, less that in the first's.
class SmoothedProduct {
 public:
  SmoothedProduct(MatrixXd query, MatrixXd key, std::span<const theory::Plane> planes)
      : query_(std::move(query)), key_(std::move(key)), planes_(planes) {}

  Index size() const { return static_cast<Index>(planes_.size()); }
  void set_squarings(int squarings) { squarings_ = squarings; }

  // Roots of the weights, coordinate by coordinate.
  VectorXd roots(const VectorXd& l) const {
    VectorXd result(query_.rows());
    for (Index p = 0; p < size(); ++p) {
      const auto [first, second] = planes_[static_cast<std::size_t>(p)];
      result(static_cast<Index>(first)) = result(static_cast<Index>(second)) = std::exp(l(p) / 2);
    }
    return result;
  }

  double operator()(const VectorXd& l, VectorXd& gradient) const {
    const VectorXd root = roots(l);
    gradient.setZero(size());
    return part(key_, root, 1, gradient) + part(query_, root.cwiseInverse(), -1, gradient);
  }

  VectorXd start() const {
    VectorXd l(size());
    for (Index p = 0; p < size(); ++p) {
      l(p) = std::log(std::max(share(query_.diagonal(), p), 1e-290) / std::max(share(key_.diagonal(), p), 1e-290)) / 2;
    }
    return l;
  }

 private:
  double share(const VectorXd& diagonal, Index p) const {
    const auto [first, second] = planes_[static_cast<std::size_t>(p)];
    return diagonal(static_cast<Index>(first)) + (first == second ? 0 : diagonal(static_cast<Index>(second)));
  }

  double part(const MatrixXd& gram, const VectorXd& root, double sign, VectorXd& gradient) const {
    MatrixXd power = root.asDiagonal() * gram * root.asDiagonal(), next;
    double logarithm = 0, exponent = 1;
    for (int i = 0; i < squarings_; ++i) {
      const double size = std::max(power.trace(), 1e-300);
      logarithm += std::log(size) / exponent;
      power /= size;
      next.noalias() = power * power;
      power.swap(next);
      exponent *= 2;
    }
    const double trace = std::max(power.trace(), 1e-300);
    logarithm += std::log(trace) / exponent;
    const VectorXd diagonal = power.diagonal();
    for (Index p = 0; p < size(); ++p) gradient(p) += sign * share(diagonal, p) / trace;
    return logarithm;
  }

  MatrixXd query_, key_;
  std::span<const theory::Plane> planes_;
  int squarings_ = 4;
};

// Limited-memory BFGS (Nocedal and Wright, algorithm 7.4) with backtracking; never goes up.
VectorXd minimise(const SmoothedProduct& f, VectorXd x, int steps) {
  struct Pair {
    VectorXd moved, turned;
  };
  std::deque<Pair> memory;
  VectorXd gradient, next_gradient;
  double value = f(x, gradient);
  for (int step = 0; step < steps && gradient.norm() > 1e-4; ++step) {
    VectorXd direction = gradient;
    std::vector<double> shares;
    for (auto pair = memory.rbegin(); pair != memory.rend(); ++pair) {
      shares.push_back(pair->moved.dot(direction) / pair->moved.dot(pair->turned));
      direction -= shares.back() * pair->turned;
    }
    if (!memory.empty()) {
      direction *= memory.back().moved.dot(memory.back().turned) / memory.back().turned.squaredNorm();
    }
    for (const Pair& pair : memory) {
      const double share = pair.turned.dot(direction) / pair.moved.dot(pair.turned);
      direction += (shares.back() - share) * pair.moved;
      shares.pop_back();
    }
    double length = std::min(1.0, 4 / std::max(direction.cwiseAbs().maxCoeff(), 1e-300));
    bool better = false;
    for (int trial = 0; trial < 6 && !better; ++trial, length /= 3) {
      const VectorXd next = x - length * direction;
      const double next_value = f(next, next_gradient);
      if (!(next_value < value - 1e-4 * length * direction.dot(gradient))) continue;
      better = true;
      const VectorXd moved = next - x, turned = next_gradient - gradient;
      if (moved.dot(turned) > 1e-14 * moved.norm() * turned.norm()) memory.push_back({moved, turned});
      if (memory.size() > 10) memory.pop_front();
      x = next;
      gradient = next_gradient;
      value = next_value;
    }
    if (!better) break;
  }
  return x;
}

// A direction that queries or keys hardly have gets this share of the mean: the basis stays well conditioned.
constexpr double block_ridge = 1e-6;

std::vector<Index> unrotated(std::span<const theory::Plane> planes) {
  std::vector<Index> coordinates;
  for (const theory::Plane& plane : planes) {
    if (plane.first == plane.second) coordinates.push_back(static_cast<Index>(plane.first));
  }
  return coordinates;
}

// r P + c c^T on these coordinates, in doubles: any basis is valid.
MatrixXd block_of(const AffineImage& image, const std::vector<Index>& coordinates) {
  const VectorXd offset = image.offset.middle.col(0)(coordinates);
  MatrixXd block = image.radius_square * image.gram.middle(coordinates, coordinates) + offset * offset.transpose();
  block.diagonal().array() += block_ridge * block.trace() / static_cast<double>(block.rows()) + 0x1p-900;
  return block;
}

// T with T^T Q T = T^-1 K T^-T = D: of Q = L L^T and L^T K L = U D^2 U^T it is L^-T U D^(1/2).
std::optional<MatrixXd> balancing(const MatrixXd& query, const MatrixXd& key) {
  const Eigen::LLT<MatrixXd> factor(query);
  if (factor.info() != Eigen::Success) return std::nullopt;
  const MatrixXd lower = factor.matrixL();
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(lower.transpose() * key * lower);
  if (solver.info() != Eigen::Success || !(solver.eigenvalues()(0) > 0)) return std::nullopt;
  const VectorXd roots = solver.eigenvalues().array().sqrt().sqrt();
  MatrixXd basis = solver.eigenvectors() * roots.asDiagonal();
  factor.matrixU().solveInPlace(basis);
  return basis;
}

// T^-1 for certain. For S near it and E = S T - I, |E| <= off < 1, T^-1 = (I + E)^-1 S is off by off / (1 - off) |S|.
std::optional<BallMatrix> certain_inverse(const MatrixXd& basis) {
  const MatrixXd inverse = basis.partialPivLu().inverse();
  if (!inverse.allFinite()) return std::nullopt;
  const BallMatrix product = BallMatrix::exactly(inverse) * BallMatrix::exactly(basis);
  const MatrixXd identity = MatrixXd::Identity(basis.rows(), basis.cols());
  const double off = frobenius_upper(numerics::raised((product.middle - identity).cwiseAbs() + product.radius, 4));
  if (!(off < 0.5)) return std::nullopt;
  const Enclosure distance = Enclosure(off) / (Enclosure(1) - Enclosure(off)) * Enclosure(frobenius_upper(inverse));
  return BallMatrix{inverse, MatrixXd::Constant(inverse.rows(), inverse.cols(), distance.upper_double())};
}

// The identity, with a block in the place of these coordinates.
BallMatrix within_identity(const BallMatrix& block, const std::vector<Index>& coordinates, Index size) {
  BallMatrix whole = BallMatrix::exactly(MatrixXd::Identity(size, size));
  whole.middle(coordinates, coordinates) = block.middle;
  whole.radius(coordinates, coordinates) = block.radius;
  return whole;
}

AffineImage in_basis(const AffineImage& image, const BallMatrix& map) {
  return {symmetrised(map * image.gram * map.transpose()), map * image.offset, image.radius_square};
}

}  // namespace

PlaneWeights search_plane_weights(const AffineImage& query, const AffineImage& key,
                                  std::span<const theory::Plane> planes) {
  SmoothedProduct product(ellipsoid_of(query), ellipsoid_of(key), planes);
  VectorXd l = product.start();
  PlaneWeights weights;
  weights.start = product.roots(l);
  for (const auto& [squarings, steps] : {std::pair{3, 12}, {5, 8}, {8, 8}}) {
    product.set_squarings(squarings);
    l = minimise(product, l, steps);
  }
  weights.better = product.roots(l);
  return weights;
}

std::vector<theory::Plane> planes_of(const Rotary& rotary, Index head_dim) {
  const auto width = static_cast<std::size_t>(head_dim), rotated = static_cast<std::size_t>(rotary.width);
  return rotary.layout == PlaneLayout::half_split ? theory::half_split_planes(width, rotated)
                                                  : theory::interleaved_planes(width, rotated);
}

BallMatrix turned_back(const BallMatrix& u, const std::vector<theory::Plane>& planes,
                       const std::vector<Enclosure>& frequencies, double factor) {
  BallMatrix result = u;
  for (std::size_t p = 0; p < planes.size(); ++p) {
    const auto first = static_cast<Index>(planes[p].first), second = static_cast<Index>(planes[p].second);
    if (first == second) continue;
    const Enclosure angle = Enclosure(factor) * frequencies[p];
    const Enclosure c = cos(angle), s = sin(angle), x = u(first, 0), y = u(second, 0);
    const std::array<std::pair<Index, Enclosure>, 2> turned{{{first, c * x + s * y}, {second, c * y - s * x}}};
    for (const auto& [row, value] : turned) {
      const double middle = value.midpoint();
      result.middle(row, 0) = middle;
      result.radius(row, 0) = maximum(value - Enclosure(middle), Enclosure(middle) - value).upper_double();
    }
  }
  return result;
}

std::optional<BalancedImages> balanced_unrotated(const AffineImage& query, const AffineImage& key,
                                                 std::span<const theory::Plane> planes) {
  const std::vector<Index> coordinates = unrotated(planes);
  if (coordinates.size() < 2) return std::nullopt;
  const std::optional<MatrixXd> basis = balancing(block_of(query, coordinates), block_of(key, coordinates));
  if (!basis || !basis->allFinite()) return std::nullopt;
  const std::optional<BallMatrix> inverse = certain_inverse(*basis);
  if (!inverse) return std::nullopt;
  const Index size = query.gram.rows();
  const BallMatrix transposed = BallMatrix::exactly(basis->transpose());
  return BalancedImages{in_basis(query, within_identity(transposed, coordinates, size)),
                        in_basis(key, within_identity(*inverse, coordinates, size))};
}

}  // namespace softcheck::models
