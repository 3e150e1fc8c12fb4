#pragma once

#include <span>

#include "numerics/filter/row_filter.hpp"

namespace softcheck::numerics {

/// The sum of a kernel's outputs.
///
/// error    2^-53 |sum| + (n 2^-53)^2 sum |value|
/// throws   std::invalid_argument if a value is not finite or n > 2^30
Approximation certified_sum(std::span<const float> values);
Approximation certified_sum(std::span<const double> values);

}  // namespace softcheck::numerics
