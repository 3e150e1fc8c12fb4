#include "numerics/matrices/gram_iteration.hpp"

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "numerics/matrices/scaled_matrix.hpp"

namespace softcheck::numerics {
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
