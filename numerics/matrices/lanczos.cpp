#include "numerics/matrices/lanczos.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace softcheck::numerics {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr Index largest_basis = 128;  // columns kept for reorthogonalisation: 2 MiB at n = 2048
constexpr Index first_check = 8;

// Entries in [-1, 1) from a multiplicative hash of the index.
VectorXd start_vector(Index n) {
  VectorXd start(n);
  std::uint64_t state = 0;
  for (double& entry : start) {
    state += 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
    entry = static_cast<double>(static_cast<std::int64_t>(state * (state | 1))) * 0x1p-63;
  }
  return start;
}

// The largest eigenpair of the tridiagonal matrix so far, and its residual with respect to S.
RitzPair ritz_pair(const MatrixXd& basis, std::vector<double>& diagonal, std::vector<double>& off_diagonal,
                   double length) {
  const auto size = static_cast<Index>(diagonal.size());
  Eigen::SelfAdjointEigenSolver<MatrixXd> solver;
  solver.computeFromTridiagonal(Eigen::Map<VectorXd>(diagonal.data(), size),
                                Eigen::Map<VectorXd>(off_diagonal.data(), size - 1));
  RitzPair pair;
  pair.value = solver.eigenvalues()[size - 1];
  pair.residual = length * std::abs(solver.eigenvectors()(size - 1, size - 1));
  const double gap = size > 1 ? pair.value - solver.eigenvalues()[size - 2] : pair.value;
  pair.converged = pair.residual <= 0x1p-50 * pair.value || pair.residual * pair.residual <= 0x1p-54 * pair.value * gap;
  pair.vector = (basis.leftCols(size) * solver.eigenvectors().col(size - 1)).normalized();
  return pair;
}

}  // namespace

RitzPair largest_ritz_pair(const SymmetricOperator& apply, const VectorXd& start) {
  const Index n = start.size(), steps = std::min(n, largest_basis);
  MatrixXd basis(n, steps);
  std::vector<double> diagonal, off_diagonal;
  RitzPair pair;
  VectorXd next = start.normalized();
  Index check = first_check;
  for (Index j = 0; j < steps; ++j) {
    basis.col(j) = next;
    VectorXd product = apply(next);
    diagonal.push_back(next.dot(product));
    const auto previous = basis.leftCols(j + 1);
    for (int pass = 0; pass < 2; ++pass) product -= previous * (previous.transpose() * product).eval();
    const double length = product.norm();
    const bool exhausted = !(length > diagonal[0] * 0x1p-52);  // an invariant subspace: it contains nothing more
    if (exhausted || j + 1 == steps || j + 1 == check) {
      pair = ritz_pair(basis, diagonal, off_diagonal, length);
      pair.converged = pair.converged || exhausted || j + 1 == n;
      if (pair.converged) return pair;
      check = std::max(check + first_check, check * 5 / 4);
    }
    off_diagonal.push_back(length);
    next = product / length;
  }
  return pair;
}

RitzPair largest_ritz_pair(const MatrixXd& symmetric) {
  return largest_ritz_pair([&](const VectorXd& x) -> VectorXd { return symmetric.selfadjointView<Eigen::Lower>() * x; },
                           start_vector(symmetric.rows()));
}

}  // namespace softcheck::numerics
