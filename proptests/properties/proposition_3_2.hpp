#pragma once

#include <vector>

#include "proptests/engine/property.hpp"
#include "proptests/properties/row_levels.hpp"

namespace softcheck::proptests {

std::vector<Property> proposition_3_2_properties();

/// The properties with any check in place of theirs: what a planted wrong version is made of.
PropertyOf<RowCase> derivatives_are_moments(RowCheck check);
PropertyOf<RowCase> entropy_falls_as_beta_grows(RowCheck check);

}  // namespace softcheck::proptests
