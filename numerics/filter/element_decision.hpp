#pragma once

#include <cstddef>
#include <span>

#include "numerics/enclosures/decision.hpp"
#include "numerics/filter/row_filter.hpp"
#include "numerics/rows/row_oracle.hpp"

namespace softcheck::numerics {

/// Is |got - p_i| within the tolerance, p_i = softmax(logits / theta)_i? By enclosures at the working precision.
///
/// oracle   of the row, at a precision not below the working one
/// logits   (n) the row; got finite
Decision decide_element(const RowOracle& oracle, std::span<const double> logits, std::size_t i, double got,
                        const ElementTolerance& tolerance);

/// The same for values that stand within 2^-512 of where the tolerance or its ulp changes, as next to p = 1 in a row
/// with one visible peak: 1 / p_i = sum_j exp((x_j - x_i) / theta) is split into the number of items near x_i, exactly,
/// and a sum of expm1 and exp that keeps its relative accuracy however small it is.
Decision decide_element_by_reciprocal(std::span<const double> logits, double theta, std::size_t i, double got,
                                      const ElementTolerance& tolerance);

}  // namespace softcheck::numerics
