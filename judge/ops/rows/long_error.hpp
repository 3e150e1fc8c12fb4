#pragma once

#include "numerics/formats/next_double.hpp"

// Certified errors in long double: sums of first-order terms. As doubles they would underflow for f64 kernels, since
// half of an ordinary call's gradients are 0.
namespace softcheck::proptests::long_error {

// At least the unit roundoff of long double, in IEEE quad and in the x87 format.
inline constexpr long double unit = 0x1p-64L;
// Factor for the neglected terms: errors are sums of first-order terms, each below 2^-10; the higher orders and the
// rounding of the errors themselves add less than 1%.
inline constexpr long double second_order = 1.01L;
// Per item: covers the underflow of an error sum's terms, and a dropped weight below 2^-16000 times a factor of at most
// 2^1024.
inline constexpr long double lost = 0x1p-14000L;

/// A double that is at least x.
inline double above(long double x) { return numerics::next_above(static_cast<double>(x)); }

}  // namespace softcheck::proptests::long_error
