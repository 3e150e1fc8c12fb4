#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "numerics/oracles/softmax_gradient.hpp"
#include "proptests/tests/numerics/gradient_rows.hpp"

namespace softcheck::numerics::simulated {

inline UpperBound above(const Enclosure& x) { return UpperBound(std::max(x.upper_double(), 0.0)); }

/// The thresholds of one item of a row.
inline double b12(const Contract& contract, const SoftmaxGradientOracle& oracle, const tests::GradientRow& row,
                  std::size_t j) {
  const SoftmaxGradientThreshold<UpperBound> threshold(contract, oracle.row<UpperBound>());
  return upper(
      threshold
          .element(UpperBound(std::fabs(row.y[j])), UpperBound(std::fabs(row.g[j])), above(abs(oracle.gradient(j))))
          .total());
}

inline double b13(const Contract& contract, const LogSoftmaxGradientOracle& oracle, const tests::GradientRow& row,
                  std::size_t j) {
  const LogSoftmaxGradientThreshold<UpperBound> threshold(contract, oracle.row<UpperBound>());
  return upper(threshold
                   .element(above(oracle.power(j)), UpperBound(std::isinf(row.y[j]) ? 0 : std::fabs(row.y[j])),
                            UpperBound(std::fabs(row.g[j])), above(abs(oracle.gradient(j))))
                   .total());
}

/// Every addition rounds up by nearly half a unit in the last place of 1; the last item's gradient is -M.
inline tests::GradientRow half_ulp_products(std::size_t others, int precision) {
  tests::GradientRow row{"half ulps", std::vector<double>(others + 2, 1.0), std::vector<double>(others + 2)};
  const double over_half = std::ldexp(1 + 0x1p-6, -precision);
  std::fill(row.g.begin(), row.g.end(), over_half);
  row.g.front() = 1;
  row.g.back() = 0;
  return row;
}

}  // namespace softcheck::numerics::simulated
