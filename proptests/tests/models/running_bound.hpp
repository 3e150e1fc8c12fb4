#pragma once

#include <cmath>
#include <span>
#include <vector>

namespace softcheck::models {

/// A number and how far from it a computation in a format of so many binary digits can lie: running error analysis.
/// Every operation is granted u = 2^-digits of its result, however the peer orders or fuses it. The factor 1.001 of
/// each grant covers that errors are themselves computed in doubles. So are values: with 24 digits that adds parts in
/// 2^29, which the factor covers too; with 53 digits the value is one more such computation, so that a peer's may
/// differ from it by twice the error.
template <int digits>
struct RunningBound {
  static constexpr double unit = 1.001 / static_cast<double>(1ULL << digits);

  double value = 0;
  double error = 0;

  double largest() const { return std::abs(value) + error; }
};

using Float32Bound = RunningBound<24>;
using Float64Bound = RunningBound<53>;
inline constexpr double float32_unit = Float32Bound::unit;

/// With so many more relative roundings.
template <int digits>
RunningBound<digits> rounded(const RunningBound<digits>& x, double roundings = 1) {
  const double share = roundings * x.unit;
  return {x.value, x.error + share * x.largest() * (1 + share)};
}

template <int digits>
RunningBound<digits> operator+(const RunningBound<digits>& a, const RunningBound<digits>& b) {
  return rounded(RunningBound<digits>{a.value + b.value, a.error + b.error});
}

template <int digits>
RunningBound<digits> operator-(const RunningBound<digits>& a, const RunningBound<digits>& b) {
  return rounded(RunningBound<digits>{a.value - b.value, a.error + b.error});
}

template <int digits>
RunningBound<digits> operator*(const RunningBound<digits>& a, const RunningBound<digits>& b) {
  const double error = std::abs(a.value) * b.error + a.error * std::abs(b.value) + a.error * b.error;
  return rounded(RunningBound<digits>{a.value * b.value, error});
}

/// x times r, where the peer may multiply in either order.
template <int digits>
RunningBound<digits> scaled(const RunningBound<digits>& x, double factor) {
  return rounded(x * RunningBound<digits>{factor, 0});
}

/// A sum of n terms in any order: at most n - 1 additions meet a term, each with gamma_n of the sum of magnitudes.
template <int digits>
RunningBound<digits> sum(const std::vector<RunningBound<digits>>& terms) {
  RunningBound<digits> total;
  double magnitude = 0;
  for (const RunningBound<digits>& term : terms) {
    total.value += term.value;
    total.error += term.error;
    magnitude += term.largest();
  }
  const double depth = static_cast<double>(terms.size()) * total.unit;
  total.error += depth / (1 - depth) * magnitude;
  return total;
}

/// 1 / sqrt(x), x - x.error > 0: on that interval the derivative is largest at its lower end; three roundings.
template <int digits>
RunningBound<digits> inverse_root(const RunningBound<digits>& x) {
  const double value = 1 / std::sqrt(x.value);
  return rounded(RunningBound<digits>{value, 1 / std::sqrt(x.value - x.error) - value}, 3);
}

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
