#pragma once

#include <vector>

#include "proptests/engine/property.hpp"
#include "proptests/properties/row_levels.hpp"

namespace softcheck::proptests {

std::vector<Property> lemma_2_1_properties();

/// The properties with any check in place of theirs: what a planted wrong version is made of.
PropertyOf<RowCase> coefficients_lie_within_bounds(RowCheck check);
PropertyOf<RowCase> sharp_bounds_are_attained(RowCheck check);
PropertyOf<RowCase> coefficients_vanish_beyond_the_dispersion_length(RowCheck check);

}  // namespace softcheck::proptests
