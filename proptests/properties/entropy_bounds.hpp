#pragma once

#include <vector>

#include "proptests/engine/property.hpp"
#include "proptests/properties/row_levels.hpp"

namespace softcheck::proptests {

std::vector<Property> entropy_bounds_properties();

/// The properties with any check in place of theirs: what a planted wrong version is made of.
PropertyOf<RowCase> entropy_lies_between_floor_and_ceiling(RowCheck check);
PropertyOf<RowCase> no_entropy_is_below_the_sharp_floor(RowCheck check);

}  // namespace softcheck::proptests
