#pragma once

#include "numerics/formats/next_double.hpp"

// The arithmetic of certified errors of long double: sums of first-order terms, as doubles.
namespace softcheck::proptests::long_error {

// Unit roundoff of long double, at least that of IEEE's and of the x87's.
inline constexpr double unit = 0x1p-64;
// Errors are sums of first-order terms, each below 2^-10: what they leave out, and their own rounding, is less than
// this much of them.
inline constexpr double second_order = 1.01;
// What an error of a sum loses as its own terms underflow, an item.
inline constexpr double lost = 0x1p-1040;

/// No less than x.
inline double above(long double x) { return numerics::next_above(static_cast<double>(x)); }

}  // namespace softcheck::proptests::long_error
