#pragma once

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::proptests {

/// Two doubles with an exact value between them.
struct DoubleBounds {
  double lower = 0;
  double upper = 0;
};

inline DoubleBounds bounds_of(const numerics::Enclosure& value) { return {value.lower_double(), value.upper_double()}; }

}  // namespace softcheck::proptests
