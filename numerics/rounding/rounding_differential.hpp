#pragma once

#include <cstdint>

#include "numerics/rounding/contract.hpp"
#include "numerics/rounding/rounding.hpp"

namespace softcheck::numerics {

/// One map's part of a column of differential attention; upper bounds.
struct DifferentialPart {
  UpperBound error;      // of the part as computed, before the difference
  UpperBound magnitude;  // sum p |v|
};

/// |computed - exact| of a column first - lambda second: docs/ops/differential_attention.md. The kernel subtracts the
/// parts, or the weights before they multiply the values.
///
/// values    sum |v|      height    of the sum of weighted values      output    |exact|
ScalarThreshold<UpperBound> differential_error(const Contract& contract, double lambda, const DifferentialPart& first,
                                               const DifferentialPart& second, const UpperBound& values,
                                               std::uint64_t height, const UpperBound& output);

}  // namespace softcheck::numerics
