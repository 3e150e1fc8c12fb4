#include "numerics/matrices/verified_cholesky.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "numerics/matrices/scaled_matrix.hpp"

namespace softcheck::numerics {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// lower(M) -= lower(L L^T), one block of columns at a time; skips the zeros above the block's diagonal.
void subtract_product(const MatrixXd& factor, MatrixXd& target) {
  constexpr Index width = 128;
  const Index n = factor.rows();
  for (Index begin = 0; begin < n; begin += width) {
    const Index columns = std::min(width, n - begin);
    const Index rows = n - begin;
    target.bottomRightCorner(rows, rows)
        .selfadjointView<Eigen::Lower>()
        .rankUpdate(factor.block(begin, begin, rows, columns), -1.0);
  }
}

// The largest row sum of |L| |L|^T, an upper bound of its 2-norm up to the rounding of its own computation.
double product_norm(const MatrixXd& lower) {
  const VectorXd column_sums = lower.cwiseAbs().colwise().sum().transpose();
  const VectorXd row_sums = lower.cwiseAbs() * column_sums;
  return row_sums.maxCoeff();
}

}  // namespace

VectorXd absolute_row_sums(const MatrixXd& symmetric) {
  const Index n = symmetric.rows();
  VectorXd sums = VectorXd::Zero(n);
  for (Index j = 0; j < n; ++j) {
    const Index below = n - j - 1;
    const auto column = symmetric.col(j).tail(below).cwiseAbs();
    sums[j] += std::abs(symmetric(j, j)) + column.sum();
    sums.tail(below) += column;
  }
  return sums;
}

VerifiedCholesky verified_cholesky(const MatrixXd& symmetric, double shift) {
  const FpEnvironmentGuard environment;
  const PrecisionScope precision(113);
  const Index n = symmetric.rows();
  MatrixXd shifted = MatrixXd::Zero(n, n);
  shifted.triangularView<Eigen::Lower>() = -symmetric;
  shifted.diagonal().array() += shift;  // one rounding each, relative to the result

  VerifiedCholesky result;
  result.lower = shifted;
  const Eigen::LLT<Eigen::Ref<MatrixXd>> factorisation(result.lower);
  result.lower.triangularView<Eigen::StrictlyUpper>().setZero();
  if (factorisation.info() != Eigen::Success || !result.lower.allFinite()) return result;

  const double diagonal = shifted.diagonal().cwiseAbs().maxCoeff();
  const double before = absolute_row_sums(shifted).maxCoeff();
  const double product = product_norm(result.lower);
  subtract_product(result.lower, shifted);
  const double after = absolute_row_sums(shifted).maxCoeff();
  if (!std::isfinite(after)) return result;

  // Computed norms are within gamma_2n of the exact ones (n additions, then at most n products and additions).
  const Enclosure evaluation = Enclosure(1) - rounding_gamma(2 * n);
  const Enclosure count = Enclosure::integer(static_cast<std::uint64_t>(n));
  const Enclosure computed = Enclosure(after) / evaluation;
  const Enclosure rounding = rounding_gamma(n + 1) * (Enclosure(before) + Enclosure(product)) / evaluation;
  const Enclosure underflow = (count + 2) * underflow_loss(n + 1);
  const Enclosure shifting = Enclosure::power_of_two(-53) * Enclosure(diagonal);
  result.residual = computed + rounding + underflow + shifting;
  result.factored = true;
  return result;
}

}  // namespace softcheck::numerics
