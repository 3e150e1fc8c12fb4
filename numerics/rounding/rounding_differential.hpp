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

/// |computed - exact| of a row's columns first - lambda second: docs/ops/differential_attention.md. The kernel
/// subtracts the parts, or the weights before they multiply the values.
class DifferentialThreshold {
 public:
  /// height    of the sum of weighted values
  DifferentialThreshold(const Contract& contract, double lambda, std::uint64_t height);

  /// values    sum |v|      output    |exact|
  ScalarThreshold<UpperBound> column(const DifferentialPart& first, const DifferentialPart& second,
                                     const UpperBound& values, const UpperBound& output) const;

 private:
  /// e^r and e^r - 1: how much what rounds r in its logarithm grows.
  struct Growth {
    explicit Growth(const UpperBound& r);
    UpperBound of(const DifferentialPart& part) const { return factor * part.error + more * part.magnitude; }
    UpperBound factor, more;
  };
  UpperBound rounding_;   // r of one number
  Growth once_, thrice_;  // of the difference; of lambda, its product and the difference
  UpperBound lambda_, lost_, output_roundoff_, output_floor_;
};

}  // namespace softcheck::numerics
