#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "numerics/oracles/softmax_gradient.hpp"
#include "proptests/tests/numerics/bound_shares.hpp"
#include "proptests/tests/numerics/gradient_rows.hpp"

namespace softcheck::numerics::simulated {

/// y (g - M), or y g - y M with the products of the sum.
enum class GradientForm { centred, expanded };

/// A kernel of softmax's gradient in a simulated arithmetic.
inline std::vector<double> softmax_gradient(const Arithmetic& a, std::span<const double> y, std::span<const double> g,
                                            GradientForm form) {
  std::vector<double> products;
  for (std::size_t i = 0; i < y.size(); ++i) {
    products.push_back(a.stored(a.contract().products, a.multiply(a.round(y[i]), a.round(g[i]))));
  }
  const double mean = sum_in_order(a, products);
  std::vector<double> gradient;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double weight = a.round(y[i]);
    gradient.push_back(a.output(form == GradientForm::centred ? a.multiply(weight, a.subtract(a.round(g[i]), mean))
                                                              : a.subtract(products[i], a.multiply(weight, mean))));
  }
  return gradient;
}

/// A kernel of log-softmax's gradient, g - e^y T.
inline std::vector<double> log_softmax_gradient(Arithmetic& a, std::span<const double> y, std::span<const double> g) {
  std::vector<double> terms;
  for (const double x : g) terms.push_back(a.round(x));
  const double total = sum_in_order(a, terms);
  std::vector<double> gradient;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double power = std::isinf(y[i]) ? 0 : a.exponential(a.round(y[i]));
    gradient.push_back(a.output(a.subtract(terms[i], a.multiply(power, total))));
  }
  return gradient;
}

/// B12: softmax's gradient, its kernels, and what they reach on the way.
struct SoftmaxGradient {
  static constexpr const char* bound = "B12";
  static constexpr auto rows = tests::gradient_rows;
  using Oracle = SoftmaxGradientOracle;
  using Row = SoftmaxGradientRow<UpperBound>;
  using Threshold = SoftmaxGradientThreshold<UpperBound>;

  static std::vector<std::vector<double>> kernels(const Contract& contract, const tests::GradientRow& row) {
    const Arithmetic arithmetic(contract, Errors::nearest);
    return {softmax_gradient(arithmetic, row.y, row.g, GradientForm::centred),
            softmax_gradient(arithmetic, row.y, row.g, GradientForm::expanded)};
  }
  static double magnitude(const Oracle& oracle, const tests::GradientRow& row) {
    double most = 0;
    for (const double g : row.g) most = std::max(most, std::fabs(g));
    return oracle.product_magnitude().upper_double() + 3 * most;
  }
  static double threshold(const Threshold& of, const Oracle&, const tests::GradientRow& row, std::size_t j,
                          const UpperBound& upstream, const UpperBound& result) {
    return upper(of.element(UpperBound(std::fabs(row.y[j])), upstream, result).total());
  }
};

/// B13: log-softmax's gradient.
struct LogSoftmaxGradient {
  static constexpr const char* bound = "B13";
  static constexpr auto rows = tests::log_gradient_rows;
  using Oracle = LogSoftmaxGradientOracle;
  using Row = LogSoftmaxGradientRow<UpperBound>;
  using Threshold = LogSoftmaxGradientThreshold<UpperBound>;

  static std::vector<std::vector<double>> kernels(const Contract& contract, const tests::GradientRow& row) {
    std::vector<std::vector<double>> results;
    for (const Errors errors : {Errors::nearest, Errors::up, Errors::down}) {
      Arithmetic arithmetic(contract, errors);
      results.push_back(log_softmax_gradient(arithmetic, row.y, row.g));
    }
    return results;
  }
  static double magnitude(const Oracle& oracle, const tests::GradientRow&) {
    return 21 * oracle.upstream_magnitude().upper_double();
  }
  static double threshold(const Threshold& of, const Oracle& oracle, const tests::GradientRow& row, std::size_t j,
                          const UpperBound& upstream, const UpperBound& result) {
    const UpperBound argument(std::isinf(row.y[j]) ? 0 : std::fabs(row.y[j]));
    return upper(of.element(above(oracle.power(j)), argument, upstream, result).total());
  }
};

/// B12 or B13 of one item of a row.
template <class Gradient>
double gradient_bound(const Contract& contract, const typename Gradient::Oracle& oracle, const tests::GradientRow& row,
                      std::size_t j) {
  const typename Gradient::Threshold of(contract, oracle.template row<UpperBound>());
  return Gradient::threshold(of, oracle, row, j, UpperBound(std::fabs(row.g[j])), above(abs(oracle.gradient(j))));
}

/// Every addition rounds up by nearly half a unit in the last place of 1; the last item's gradient is -M.
inline tests::GradientRow half_ulp_products(std::size_t others, int precision, double output = 1) {
  tests::GradientRow row{"half ulps", std::vector<double>(others + 2, output), std::vector<double>(others + 2)};
  const double over_half = std::ldexp(1 + 0x1p-6, -precision);
  std::fill(row.g.begin(), row.g.end(), over_half);
  row.g.front() = 1;
  row.g.back() = 0;
  return row;
}

}  // namespace softcheck::numerics::simulated
