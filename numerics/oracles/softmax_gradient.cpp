#include "numerics/oracles/softmax_gradient.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "numerics/formats/special_values.hpp"

namespace softcheck::numerics {
namespace {

// Additional bits of the sums: 2^32 roundings are then less than one of the result.
constexpr unsigned sum_guard_bits = 32;

void require_pair(const std::string& function, std::span<const double> y, std::span<const double> g, bool masked) {
  if (y.size() != g.size() || y.empty()) {
    throw std::invalid_argument(function + ": need as many y as g, at least one, got " + std::to_string(y.size()) +
                                " and " + std::to_string(g.size()));
  }
  for (const double x : y) {
    if (std::isfinite(x) || (masked && x == -infinity)) continue;
    throw std::invalid_argument(function + ": need y finite" + (masked ? " or -inf" : "") + ", got " +
                                std::to_string(x));
  }
  for (const double x : g) {
    if (!std::isfinite(x)) throw std::invalid_argument(function + ": need g finite, got " + std::to_string(x));
  }
}

double largest_magnitude(std::span<const double> values) {
  double largest = 0;
  for (const double x : values) largest = std::max(largest, std::fabs(x));
  return largest;
}

}  // namespace

SoftmaxGradientOracle::SoftmaxGradientOracle(std::span<const double> y, std::span<const double> g)
    : y_(y.begin(), y.end()), g_(g.begin(), g.end()), precision_(working_precision()) {
  const FpEnvironmentGuard environment;
  require_pair("SoftmaxGradientOracle", y, g, false);
  const PrecisionScope scope(precision_ + sum_guard_bits);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const Enclosure product = Enclosure(y[i]) * Enclosure(g[i]);
    mean_ = mean_ + product;
    product_magnitude_ = product_magnitude_ + abs(product);
  }
}

Enclosure SoftmaxGradientOracle::gradient(std::size_t j) const {
  const PrecisionScope scope(precision_ + sum_guard_bits);
  return Enclosure(y_.at(j)) * (Enclosure(g_.at(j)) - mean_);
}

Enclosure SoftmaxGradientOracle::metric(std::size_t j) const {
  return abs(Enclosure(y_.at(j))) * (abs(Enclosure(g_.at(j))) + product_magnitude_);
}

template <class T>
SoftmaxGradientRow<T> SoftmaxGradientOracle::row() const {
  SoftmaxGradientRow<T> row;
  row.size = size();
  for (std::size_t i = 0; i < size(); ++i) row.terms += y_[i] != 0 && g_[i] != 0 ? 1 : 0;
  row.product_magnitude = bound_of<T>(product_magnitude_);
  row.mean_magnitude = bound_of<T>(abs(mean_));
  row.largest_coefficient = T(largest_magnitude(y_));
  row.largest_upstream = T(largest_magnitude(g_));
  return row;
}

LogSoftmaxGradientOracle::LogSoftmaxGradientOracle(std::span<const double> y, std::span<const double> g)
    : y_(y.begin(), y.end()), g_(g.begin(), g.end()), precision_(working_precision()) {
  const FpEnvironmentGuard environment;
  require_pair("LogSoftmaxGradientOracle", y, g, true);
  const PrecisionScope scope(precision_ + sum_guard_bits);
  for (const double x : g) {
    total_ = total_ + Enclosure(x);
    upstream_magnitude_ = upstream_magnitude_ + abs(Enclosure(x));
  }
}

Enclosure LogSoftmaxGradientOracle::power(std::size_t j) const {
  const PrecisionScope scope(precision_ + sum_guard_bits);
  return std::isinf(y_.at(j)) ? Enclosure(0) : exp(Enclosure(y_[j]));
}

Enclosure LogSoftmaxGradientOracle::gradient(std::size_t j) const {
  const PrecisionScope scope(precision_ + sum_guard_bits);
  return Enclosure(g_.at(j)) - power(j) * total_;
}

Enclosure LogSoftmaxGradientOracle::metric(std::size_t j) const {
  return abs(Enclosure(g_.at(j))) + power(j) * upstream_magnitude_;
}

template <class T>
LogSoftmaxGradientRow<T> LogSoftmaxGradientOracle::row() const {
  LogSoftmaxGradientRow<T> row;
  row.size = size();
  row.terms = static_cast<std::uint64_t>(std::count_if(g_.begin(), g_.end(), [](double x) { return x != 0; }));
  row.upstream_magnitude = bound_of<T>(upstream_magnitude_);
  row.total_magnitude = bound_of<T>(abs(total_));
  return row;
}

namespace {

constexpr double unit = 0x1p-53;
// Error terms are computed in double, too: fewer than 2^10 roundings of numbers >= 0.
constexpr double inflated = 1 + 0x1p-40;
constexpr double quantum = 0x1p-1074;

// A sum as high + low, |high + low - sum| <= error.
struct CompensatedSum {
  double high = 0, low = 0, magnitude = 0, error = 0;
};

double sum_exactly(double a, double b, double& rest) {
  const double sum = a + b;
  const double part = sum - a;
  rest = (a - (sum - part)) + (b - part);
  return sum;
}

// Dot2 of Ogita, Rump and Oishi, SIAM J. Sci. Comput. 26 (2005): the sum of the exact errors of products and additions
// errs by gamma_(2n)^2 of sum |a b|; each underflowing product by at most a quantum. low stays separate.
CompensatedSum dot(std::span<const double> a, std::span<const double> b) {
  CompensatedSum sum;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double product = a[i] * b[i];
    const double of_product = std::fma(a[i], b[i], -product);
    double of_sum = 0;
    sum.high = sum_exactly(sum.high, product, of_sum);
    sum.low += of_sum + of_product;
    sum.magnitude += std::fabs(product);
  }
  const double n = static_cast<double>(a.size());
  sum.magnitude *= 1 + 2 * n * unit;
  sum.error = inflated * (4 * n * n * unit * unit * sum.magnitude + 2 * n * quantum);
  return sum;
}

Approximation finite_or_nothing(double value, double error) {
  return std::isfinite(value) && std::isfinite(error) ? Approximation{value, error} : Approximation{0, infinity};
}

}  // namespace

std::vector<Approximation> approximate_softmax_gradient(std::span<const double> y, std::span<const double> g) {
  const FpEnvironmentGuard environment;
  require_pair("approximate_softmax_gradient", y, g, false);
  const CompensatedSum mean = dot(y, g);
  std::vector<Approximation> gradients;
  gradients.reserve(y.size());
  for (std::size_t j = 0; j < y.size(); ++j) {
    double rest = 0;
    const double high = sum_exactly(g[j], -mean.high, rest);
    const double low = rest - mean.low;
    const double difference = high + low;
    const double value = y[j] * difference;
    const double size = std::fabs(y[j]);
    const double roundings = std::fabs(value) + size * (std::fabs(difference) + std::fabs(low));
    gradients.push_back(finite_or_nothing(value, inflated * (unit * roundings + size * mean.error) + 2 * quantum));
  }
  return gradients;
}

std::vector<Approximation> approximate_log_softmax_gradient(std::span<const double> y, std::span<const double> g) {
  const FpEnvironmentGuard environment;
  require_pair("approximate_log_softmax_gradient", y, g, true);
  const std::vector<double> ones(g.size(), 1);
  const CompensatedSum total = dot(g, ones);
  const double sum = total.high + total.low;
  const double sum_error = total.error + unit * std::fabs(sum);
  std::vector<Approximation> gradients;
  gradients.reserve(y.size());
  for (std::size_t j = 0; j < y.size(); ++j) {
    // The GNU C library documents at most 1 ulp for exp on x86-64 ("Errors in Math Functions"); 8 u are four ulps.
    const double power = std::exp(y[j]);
    const double product = power * sum;
    const double value = g[j] - product;
    const double error = unit * (std::fabs(value) + 10 * std::fabs(product)) + power * (1 + 16 * unit) * sum_error +
                         quantum * (4 + 4 * std::fabs(sum));
    gradients.push_back(finite_or_nothing(value, inflated * error));
  }
  return gradients;
}

template SoftmaxGradientRow<UpperBound> SoftmaxGradientOracle::row<UpperBound>() const;
template SoftmaxGradientRow<Enclosure> SoftmaxGradientOracle::row<Enclosure>() const;
template LogSoftmaxGradientRow<UpperBound> LogSoftmaxGradientOracle::row<UpperBound>() const;
template LogSoftmaxGradientRow<Enclosure> LogSoftmaxGradientOracle::row<Enclosure>() const;

}  // namespace softcheck::numerics
