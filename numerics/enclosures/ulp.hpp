#pragma once

#include <cstdint>

#include "numerics/enclosures/enclosure.hpp"
#include "numerics/formats/format.hpp"

namespace softcheck::numerics {

/// Unit in the last place: the spacing of the format's numbers in the binade [2^e, 2^(e + 1)) that holds |value|, which
/// need not be one of them; at zero and below the smallest normal number the smallest subnormal, beyond the largest
/// number the spacing of the last binade.
///
/// throws   std::invalid_argument when value is infinite or NaN
double ulp(Format format, double value);

/// value = an odd whole number times 2^this; value finite and not 0.
int lowest_bit(double value);

/// How many steps from one number of the format to the next lie between a and b, across powers of two and zero alike;
/// -0 and +0 are one number, infinity is one step beyond the largest.
///
/// throws   std::invalid_argument when a or b is not a number of the format
std::uint64_t ulp_distance(Format format, double a, double b);

/// |got - exact| / ulp(exact). Where the enclosure reaches into several binades it covers the quotients of all of them.
///
/// exact    a finite enclosure of the true value          got   finite
/// throws   std::invalid_argument when either is not finite
Enclosure error_in_ulps(Format format, const Enclosure& exact, double got);

}  // namespace softcheck::numerics
