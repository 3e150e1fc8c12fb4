#pragma once

#include <vector>

#include "proptests/tests/models/running_bound.hpp"

namespace softcheck::models {

/// The mean of x^2 (less the square of the mean m where one is given), plus epsilon, whatever one-pass or two-pass
/// method the peer has: the textbook's, mean of squares less squared mean, loses most, gamma_{2d+4} of the mean square
/// (Chan, Golub and LeVeque 1983), and twice that is granted.
template <int digits>
RunningBound<digits> variance(const std::vector<RunningBound<digits>>& x, const RunningBound<digits>& m,
                              double epsilon) {
  const double d = static_cast<double>(x.size());
  double squares = 0, errors = 0;
  for (const RunningBound<digits>& entry : x) {
    squares += entry.value * entry.value / d;
    errors += (2 * std::abs(entry.value) + entry.error) * entry.error / d;
  }
  const double depth = (2 * d + 4) * m.unit;
  const double lost = 2 * depth / (1 - depth) * squares + (2 * std::abs(m.value) + m.error) * m.error;
  return rounded(RunningBound<digits>{squares - m.value * m.value + epsilon, errors + lost});
}

template <int digits>
std::vector<RunningBound<digits>> root_mean_square_normalised(const std::vector<RunningBound<digits>>& x,
                                                              double epsilon) {
  const RunningBound<digits> factor = inverse_root(variance(x, RunningBound<digits>(), epsilon));
  std::vector<RunningBound<digits>> result;
  for (const RunningBound<digits>& entry : x) result.push_back(entry * factor);
  return result;
}

template <int digits>
std::vector<RunningBound<digits>> layer_normalised(const std::vector<RunningBound<digits>>& x, double epsilon) {
  RunningBound<digits> mean = sum(x);
  const double d = static_cast<double>(x.size());
  mean = rounded(RunningBound<digits>{mean.value / d, mean.error / d});
  const RunningBound<digits> factor = inverse_root(variance(x, mean, epsilon));
  std::vector<RunningBound<digits>> result;
  // Products before the difference, as PyTorch has them, lose more than the difference before the product.
  for (const RunningBound<digits>& entry : x) result.push_back(entry * factor - mean * factor);
  return result;
}

}  // namespace softcheck::models
