#include "numerics/matrices/singular_value.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "numerics/formats/next_double.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/matrices/integer_gram.hpp"
#include "numerics/matrices/lanczos.hpp"
#include "numerics/matrices/scaled_matrix.hpp"
#include "numerics/matrices/verified_cholesky.hpp"

namespace softcheck::numerics {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double roundoff = 0x1p-53;

// No double lies strictly between the ends.
bool is_tightest(const SingularValueEnclosure& sigma) { return sigma.upper <= next_above(sigma.lower); }

SingularValueEnclosure in_doubles(const Enclosure& sigma) { return {sigma.lower_double(), sigma.upper_double()}; }

// Both enclose the same number.
SingularValueEnclosure meet(const SingularValueEnclosure& a, const SingularValueEnclosure& b) {
  return {std::max(a.lower, b.lower), std::min(a.upper, b.upper)};
}

SingularValueEnclosure vector_norm(const Eigen::Ref<const MatrixXd>& vector) {
  Enclosure squares;  // the exponents of an enclosure are unbounded, so nothing needs scaling
  for (Index j = 0; j < vector.cols(); ++j)
    for (Index i = 0; i < vector.rows(); ++i) squares += square(Enclosure(vector(i, j)));
  return in_doubles(sqrt(squares));
}

// || computed B B^T - B B^T ||_2 <= gamma_k || |B||B|^T ||_inf + underflow, docs/tolerances/singular_values.md,
// section 2.
Enclosure product_error(const MatrixXd& entries) {
  const Index m = entries.rows(), k = entries.cols();
  const VectorXd column_sums = entries.cwiseAbs().colwise().sum().transpose();
  const VectorXd row_sums = entries.cwiseAbs() * column_sums;
  const Enclosure norm = Enclosure(row_sums.maxCoeff()) / (Enclosure(1) - rounding_gamma(m + k)) + underflow_loss(k);
  const Enclosure rows = Enclosure::integer(static_cast<std::uint64_t>(m));
  return rounding_gamma(k) * norm + rows * underflow_loss(k);
}

// ||B^T x|| / ||x|| <= sigma for every x: only the evaluation needs a bound (section 4).
Enclosure rayleigh_lower(const MatrixXd& entries, VectorXd x) {
  const Index m = entries.rows(), k = entries.cols();
  // Drop components whose squares could underflow: x may be any vector.
  x = (x.array().abs() < 0x1p-400).select(0.0, x);
  const VectorXd image = entries.transpose() * x;
  const VectorXd image_scale = entries.cwiseAbs().transpose() * x.cwiseAbs();
  const double length = x.squaredNorm(), image_length = image.squaredNorm(), scale_length = image_scale.squaredNorm();
  if (!(length > 0) || !std::isfinite(length) || !std::isfinite(image_length)) return Enclosure(0);

  const Enclosure one(1);
  const Enclosure columns = Enclosure::integer(static_cast<std::uint64_t>(k));
  const Enclosure image_squares = Enclosure(image_length) / (one + rounding_gamma(k)) - underflow_loss(k);
  const Enclosure scale_squares = Enclosure(scale_length) / (one - rounding_gamma(k)) + underflow_loss(k);
  const Enclosure scale_norm = sqrt(scale_squares) / (one - rounding_gamma(m)) + columns * underflow_loss(m);
  const Enclosure error = rounding_gamma(m) * scale_norm + columns * underflow_loss(m);
  const Enclosure norm = sqrt(Enclosure(length) / (one - rounding_gamma(m)));
  if (!image_squares.certainly_positive()) return Enclosure(0);
  return maximum((sqrt(image_squares) - error) / norm, Enclosure(0));
}

// A bound of the largest eigenvalue without factorisation: the inf-norm.
Enclosure row_sum_bound(const MatrixXd& gram) {
  return Enclosure(absolute_row_sums(gram).maxCoeff()) / (Enclosure(1) - rounding_gamma(gram.rows()));
}

// Shift and invert: eigenvalues near the shift, clustered in S, are far apart in (shift I - S)^-1.
void refine(RitzPair& proposal, const MatrixXd& gram, const MatrixXd& factor) {
  const auto lower = factor.triangularView<Eigen::Lower>();
  const auto solve = [&](const VectorXd& x) -> VectorXd {
    VectorXd y = lower.solve(x);
    lower.transpose().solveInPlace(y);
    return y;
  };
  VectorXd vector = largest_ritz_pair(solve, proposal.vector).vector;
  const double value = vector.dot(gram.selfadjointView<Eigen::Lower>() * vector);
  if (!(value > proposal.value)) return;
  proposal.value = value;
  proposal.vector = std::move(vector);
}

// An upper bound of the largest eigenvalue of the computed Gram matrix. The shift exceeds the proposed eigenvalue by
// the margin that the bounds cost anyway. If Lanczos has not converged, or the factorisation breaks off, the shift
// moves up, and the factor found there gives a better proposal. Any shift gives a valid bound.
Enclosure eigenvalue_upper(const MatrixXd& gram, RitzPair& proposal, double error) {
  constexpr int most_attempts = 24;
  const double rounding = 8 * static_cast<double>(gram.rows()) * roundoff;
  const auto margin = [&] { return std::max(rounding * proposal.value, error / 4); };
  Enclosure upper = row_sum_bound(gram);
  double slack = proposal.converged ? margin() : std::max(margin(), proposal.residual);
  double lowest_success = infinity;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    const double shift = proposal.value + slack;
    const VerifiedCholesky cholesky = verified_cholesky(gram, shift);
    if (!cholesky.factored) {
      slack *= 8;
      if (!(proposal.value + slack < lowest_success)) break;
      continue;
    }
    upper = minimum(upper, Enclosure(shift) + cholesky.residual);
    if (slack <= margin() || !(shift < lowest_success)) break;
    lowest_success = shift;
    refine(proposal, gram, cholesky.lower);
    slack = margin();
  }
  return upper;
}

// The bounds for a matrix whose Gram matrix is computed without rounding.
class IntegerRoute {
 public:
  IntegerRoute(const MatrixXd& gram, int product_exponent, int scale)
      : bounds_(gram, 2 * product_exponent), exponent_(product_exponent + scale), size_(gram.rows()) {
    bounds_.try_structure();
  }

  SingularValueEnclosure sigma() const {
    return in_doubles(sqrt(bounds_.eigenvalue()) * Enclosure::power_of_two(exponent_));
  }

  SingularValueEnclosure sigma_near(const VectorXd& eigenvector) {
    // larger L D L^T in enclosures take too long; up to this size some milliseconds
    constexpr Index largest_enclosed = 48;
    bounds_.try_vector(eigenvector);
    SingularValueEnclosure found = sigma();
    if (is_tightest(found) || size_ > largest_enclosed) return found;
    bounds_.raise_lower(eigenvector);
    found = meet(found, sigma());
    double candidate = found.lower;
    for (int steps = 1; steps <= 64; steps *= 2) {
      for (int i = 0; i < (steps + 1) / 2; ++i) candidate = next_above(candidate);
      if (!(candidate < found.upper)) break;
      const Enclosure bound = square(Enclosure(candidate) * Enclosure::power_of_two(-exponent_));
      if (bounds_.largest_at_most(bound) == Decision::proved) found.upper = candidate;
    }
    return found;
  }

 private:
  IntegerGram bounds_;
  int exponent_;
  Index size_;
};

SingularValueEnclosure enclose(const ScaledMatrix& scaled) {
  const MatrixXd& entries = scaled.entries;
  MatrixXd gram = MatrixXd::Zero(entries.rows(), entries.rows());
  gram.selfadjointView<Eigen::Lower>().rankUpdate(entries);

  SingularValueEnclosure known{0, infinity};
  std::optional<IntegerRoute> integers;
  if (scaled.exact) {
    if (const std::optional<int> exponent = exact_product_exponent(entries)) {
      integers.emplace(gram, *exponent, scaled.exponent);
      known = integers->sigma();
      if (is_tightest(known)) return known;
    }
  }
  RitzPair proposal = largest_ritz_pair(gram);
  if (integers) {
    known = meet(known, integers->sigma_near(proposal.vector));
    if (is_tightest(known)) return known;
  }
  const Enclosure error = integers ? Enclosure(0) : product_error(entries);
  const Enclosure upper = sqrt(eigenvalue_upper(gram, proposal, error.upper_double()) + error) + scaled.error();
  const Enclosure lower = maximum(rayleigh_lower(entries, proposal.vector) - scaled.error(), Enclosure(0));
  const Enclosure unit = Enclosure::power_of_two(scaled.exponent);
  return meet(known, {(lower * unit).lower_double(), (upper * unit).upper_double()});
}

}  // namespace

SingularValueEnclosure largest_singular_value(const Eigen::Ref<const Eigen::MatrixXd>& matrix) {
  const FpEnvironmentGuard environment;
  const PrecisionScope precision(256);
  if (matrix.size() == 0) return {};
  const ScaledMatrix scaled = scale_to_unit(matrix, "largest_singular_value");
  if (scaled.entries.isZero(0)) return {};
  if (scaled.entries.rows() == 1) return vector_norm(matrix);
  return enclose(scaled);
}

SingularValueEnclosure largest_singular_value(const Eigen::Ref<const Eigen::MatrixXf>& matrix) {
  // Before the conversion, which would read subnormal floats as 0 with denormals-are-zero.
  const FpEnvironmentGuard environment;
  return largest_singular_value(Eigen::MatrixXd(matrix.cast<double>()));
}

namespace {

using Eigen::Index;
using Eigen::MatrixXd;

Enclosure count(Index value) { return Enclosure::integer(static_cast<std::uint64_t>(value)); }

// ||M||_F from its computed sum of squares.
Enclosure frobenius(const MatrixXd& matrix) {
  const double squares = matrix.squaredNorm();
  const Enclosure gamma = rounding_gamma(matrix.size());
  const Enclosure one(1), loss = underflow_loss(matrix.size());
  const Enclosure least = maximum(Enclosure(squares) / (one + gamma) - loss, Enclosure(0));
  const Enclosure most = Enclosure(squares) / (one - gamma) + loss;
  return sqrt(hull(least, most));
}

// A matrix times its transpose, and a bound of the 2-norm of its rounding error.
struct Product {
  MatrixXd matrix;
  Enclosure error;
};

Product times_transpose(const MatrixXd& factor) {
  const Index n = factor.rows(), terms = factor.cols();
  Product product{MatrixXd::Zero(n, n), Enclosure(0)};
  product.matrix.selfadjointView<Eigen::Lower>().rankUpdate(factor);
  product.matrix.triangularView<Eigen::StrictlyUpper>() = product.matrix.transpose();
  // || |C||C|^T ||_2 <= ||C||_F^2.
  product.error = rounding_gamma(terms) * square(frobenius(factor)) + count(n) * underflow_loss(terms);
  return product;
}

// [value - error, value + error] with an upper bound `error`, cut off at 0.
Enclosure widened(const Enclosure& value, const Enclosure& error) {
  return hull(maximum(value - error, Enclosure(0)), value + error);
}

struct Step {
  long exponent = 0;  // power of two taken out before squaring
  Enclosure error;    // of the product
};

Enclosure largest_squared(const MatrixXd& entries, int squarings) {
  const Index n = entries.rows();
  Product current = times_transpose(entries);
  const Enclosure gram_error = current.error;
  std::vector<Step> steps;
  for (int i = 0; i < squarings; ++i) {
    Step step;
    step.exponent = std::ilogb(current.matrix.norm()) + 1;
    // At least 2^-149 (section 6), so the factor neither overflows nor vanishes.
    current.matrix *= std::ldexp(1.0, static_cast<int>(-step.exponent));
    current = times_transpose(current.matrix);
    step.error = current.error;
    steps.push_back(step);
  }
  const Enclosure norm = frobenius(current.matrix);
  Enclosure largest = hull(norm / sqrt(count(n)), norm);
  const Enclosure scaling_loss = count(n) * Enclosure::power_of_two(-1075);
  for (auto step = steps.rbegin(); step != steps.rend(); ++step)
    largest = widened(sqrt(widened(largest, step->error)), scaling_loss) * Enclosure::power_of_two(step->exponent);
  return widened(largest, gram_error);
}

}  // namespace

SingularValueEnclosure gram_iteration(const Eigen::Ref<const MatrixXd>& matrix, int squarings) {
  if (squarings < 0 || squarings > 60)
    throw std::invalid_argument("gram_iteration: squarings must be in [0, 60], got " + std::to_string(squarings));
  const FpEnvironmentGuard environment;
  const PrecisionScope precision(256);
  if (matrix.size() == 0) return {};
  const ScaledMatrix scaled = scale_to_unit(matrix, "gram_iteration");
  if (scaled.entries.isZero(0)) return {};
  const Enclosure sigma = widened(sqrt(largest_squared(scaled.entries, squarings)), scaled.error());
  const Enclosure unscaled = sigma * Enclosure::power_of_two(scaled.exponent);
  return {unscaled.lower_double(), unscaled.upper_double()};
}

SingularValueEnclosure gram_iteration(const Eigen::Ref<const Eigen::MatrixXf>& matrix, int squarings) {
  const FpEnvironmentGuard environment;
  return gram_iteration(MatrixXd(matrix.cast<double>()), squarings);
}

}  // namespace softcheck::numerics
