#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "proptests/tests/numerics/simulated_arithmetic.hpp"
#include "proptests/tests/numerics/simulated_order.hpp"

namespace softcheck::numerics::simulated {

inline double sum_in_order(const Arithmetic& a, std::vector<double> terms) {
  return merged_in_order(a.contract().summation, std::move(terms), 0.0, [&](double x, double y) {
    return x == 0 ? y : y == 0 ? x : a.add(x, y);
  });
}

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

}  // namespace softcheck::numerics::simulated
