#pragma once

#include <vector>

#include "proptests/generators/draw.hpp"
#include "proptests/generators/row.hpp"

namespace softcheck::proptests {

/// value rounded to the format; beyond its largest number that number.
double into_format(numerics::Format format, double value);

/// Values of one row before they are fitted to the options: slots numbers of the format, one for each run.
///
/// family   any but masked        slots   >= 1
std::vector<double> draw_values(Draw& draw, RowFamily family, numerics::Format format, std::size_t slots);

}  // namespace softcheck::proptests
