#include "models/bounds/unrotated_basis.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <vector>

namespace softcheck::models {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using numerics::BallMatrix;
using numerics::Enclosure;

namespace {

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
