#include "numerics/lanczos.hpp"

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

constexpr Index largest_basis = 192;  // columns kept for reorthogonalisation: 3 MiB at n = 2048
constexpr int most_restarts = 4;
constexpr Index check_every = 8;

// Entries in [-1, 1) from a multiplicative hash of the index: no direction is favoured and every run is the same.
VectorXd start_vector(Index n) {
  VectorXd start(n);
  std::uint64_t state = 0;
  for (double& entry : start) {
    state += 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
    entry = static_cast<double>(static_cast<std::int64_t>(state * (state | 1))) * 0x1p-63;
  }
  return start.normalized();
}

struct Sweep {
  RitzPair pair;
  bool converged = false;
};

Sweep sweep_from(const MatrixXd& symmetric, const VectorXd& start) {
  const Index n = symmetric.rows();
  const Index steps = std::min(n, largest_basis);
  MatrixXd basis(n, steps);
  std::vector<double> diagonal, off_diagonal;
  Sweep sweep;
  VectorXd next = start, product(n);
  for (Index j = 0; j < steps; ++j) {
    basis.col(j) = next;
    product.noalias() = symmetric.selfadjointView<Eigen::Lower>() * next;
    diagonal.push_back(next.dot(product));
    for (int pass = 0; pass < 2; ++pass)
      product -= basis.leftCols(j + 1) * (basis.leftCols(j + 1).transpose() * product).eval();
    const double length = product.norm();
    const bool exhausted = !(length > diagonal[0] * 0x1p-52);
    if (exhausted || j + 1 == steps || (j + 1) % check_every == 0) {
      const Index size = j + 1;
      Eigen::SelfAdjointEigenSolver<MatrixXd> small;
      small.computeFromTridiagonal(Eigen::Map<VectorXd>(diagonal.data(), size),
                                   Eigen::Map<VectorXd>(off_diagonal.data(), size - 1));
      const double value = small.eigenvalues()[size - 1];
      const double gap = size > 1 ? value - small.eigenvalues()[size - 2] : value;
      const double residual = length * std::abs(small.eigenvectors()(size - 1, size - 1));
      sweep.converged = exhausted || residual <= 0x1p-50 * value || residual * residual <= 0x1p-54 * value * gap;
      if (sweep.converged || size == steps) {
        sweep.pair = {value, residual, basis.leftCols(size) * small.eigenvectors().col(size - 1)};
        return sweep;
      }
    }
    off_diagonal.push_back(length);
    next = product / length;
  }
  return sweep;
}

}  // namespace

RitzPair largest_ritz_pair(const MatrixXd& symmetric) {
  Sweep sweep = sweep_from(symmetric, start_vector(symmetric.rows()));
  for (int restart = 0; restart < most_restarts && !sweep.converged; ++restart)
    sweep = sweep_from(symmetric, sweep.pair.vector.normalized());
  return sweep.pair;
}

}  // namespace softcheck::numerics
