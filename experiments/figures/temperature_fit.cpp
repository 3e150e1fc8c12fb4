#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "experiments/figures/temperature_figure.hpp"

namespace softcheck::experiments {
namespace {

// -log of the item's coefficient. The best temperature of the grid makes it smallest.
double surprise(std::span<const float> logits, std::size_t item, double largest, double beta) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(beta * (logit - largest));
  return std::log(sum) - beta * (logits[item] - largest);
}

}  // namespace

double best_theta(std::span<const float> logits, std::size_t item) {
  const double largest = std::ranges::max(logits);
  // Convex in beta (Proposition 3.2: its second derivative is a variance), so along the grid it falls, then rises.
  int low = 1, high = theta_steps;
  while (low < high) {
    const int middle = (low + high) / 2;
    const double here = surprise(logits, item, largest, 1 / theta_at(middle));
    if (here <= surprise(logits, item, largest, 1 / theta_at(middle + 1))) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return theta_at(low);
}

std::vector<FitSample> fit_samples(const Floats& parameters, std::uint64_t stream, const FitOptions& options) {
  std::vector<FitSample> samples;
  for (const int size : options.sizes) {
    const auto count = static_cast<int>(std::clamp<std::int64_t>(options.items / size, 1, options.sets));
    for_each_row(parameters, {options.seed, stream}, size, count, [&](const AttentionRow& row) {
      if (row.logits[row.maximal] == std::ranges::max(row.logits)) return;
      samples.push_back({size, entropy_of(coefficients_of(row.logits)), best_theta(row.logits, row.maximal)});
    });
  }
  return samples;
}

std::vector<double> fit_polynomial(std::span<const FitSample> samples, int degree) {
  const auto rows = static_cast<Eigen::Index>(samples.size());
  Eigen::MatrixXd powers(rows, degree + 1);
  Eigen::VectorXd inverse(rows);
  for (Eigen::Index i = 0; i < rows; ++i) {
    const FitSample& sample = samples[static_cast<std::size_t>(i)];
    for (int p = 0; p <= degree; ++p) powers(i, p) = std::pow(sample.entropy, p);
    inverse(i) = 1 / sample.theta;
  }
  const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(powers);
  if (rows <= degree || qr.rank() <= degree) {
    throw std::invalid_argument("fit_polynomial: need more than " + std::to_string(degree) +
                                " samples of different entropies, got " + std::to_string(samples.size()));
  }
  const Eigen::VectorXd solution = qr.solve(inverse);
  return {solution.begin(), solution.end()};
}

double polynomial(std::span<const double> coefficients, double x) {
  double sum = 0;
  for (std::size_t i = coefficients.size(); i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

}  // namespace softcheck::experiments
