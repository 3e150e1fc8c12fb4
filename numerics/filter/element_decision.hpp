#pragma once

#include <cstddef>
#include <span>

#include "numerics/enclosures/decision.hpp"
#include "numerics/filter/row_filter.hpp"
#include "numerics/rows/row_oracle.hpp"

namespace softcheck::numerics {

/// Is |got - p_i| within the tolerance, p_i = softmax(logits / theta)_i? By enclosures at the working precision.
///
/// oracle   of the row, at the working precision or above
/// logits   (n) the row; got finite
Decision decide_element(const RowOracle& oracle, std::span<const double> logits, std::size_t i, double got,
                        const ElementTolerance& tolerance);

/// The same for values within 2^-512 of a change of the tolerance or its ulp, as near p = 1 in a row with one visible
/// peak: splits 1 / p_i = sum_j exp((x_j - x_i) / theta) into the exact number of items near x_i, and a sum of expm1
/// and exp that keeps its relative accuracy however small it is.
Decision decide_element_by_reciprocal(std::span<const double> logits, double theta, std::size_t i, double got,
                                      const ElementTolerance& tolerance);

}  // namespace softcheck::numerics
