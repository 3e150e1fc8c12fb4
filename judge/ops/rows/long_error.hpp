#pragma once

#include "numerics/formats/next_double.hpp"

// The arithmetic of certified errors of long double: sums of first-order terms, as long doubles. As doubles they would
// underflow where those of a kernel in f64 are judged: half of an ordinary call's gradients are 0.
namespace softcheck::proptests::long_error {

// Unit roundoff of long double, at least that of IEEE's and of the x87's.
inline constexpr long double unit = 0x1p-64L;
// Errors are sums of first-order terms, each below 2^-10: what they leave out, and their own rounding, is less than
// this much of them.
inline constexpr long double second_order = 1.01L;
// What an error of a sum loses as its own terms underflow, and what a weight below 2^-16000 that was left out adds to
// it beside a factor of at most 2^1024, an item.
inline constexpr long double lost = 0x1p-14000L;

/// A double no less than x.
inline double above(long double x) { return numerics::next_above(static_cast<double>(x)); }

}  // namespace softcheck::proptests::long_error
