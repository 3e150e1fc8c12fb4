#pragma once

#include <cstdint>

#include "numerics/enclosures/enclosure.hpp"
#include "numerics/formats/format.hpp"

namespace softcheck::numerics {

/// Unit in the last place: the spacing of the format's numbers in the binade [2^e, 2^(e + 1)) of |value|, which need
/// not be one of them. At zero and below the smallest normal number the smallest subnormal; beyond the largest number
/// the spacing of the last binade.
///
/// throws   std::invalid_argument if the value is infinite or NaN
double ulp(Format format, double value);

/// The exponent e of value = (odd integer) * 2^e; value finite and not 0.
int lowest_bit(double value);

/// Number of steps between the format's numbers from a to b, across powers of two and zero; -0 and +0 are one number,
/// and infinity is one step beyond the largest.
///
/// throws   std::invalid_argument if a or b is not a number of the format
std::uint64_t ulp_distance(Format format, double a, double b);

/// |got - exact| / ulp(exact). If the enclosure spans several binades, covers the quotients of all of them.
///
/// exact    a finite enclosure of the exact value          got   finite
/// throws   std::invalid_argument if either is not finite
Enclosure error_in_ulps(Format format, const Enclosure& exact, double got);

}  // namespace softcheck::numerics
