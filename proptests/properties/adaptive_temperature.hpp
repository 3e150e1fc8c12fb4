#pragma once

#include <vector>

#include "proptests/engine/property.hpp"
#include "proptests/properties/row_levels.hpp"

namespace softcheck::proptests {

std::vector<Property> adaptive_temperature_properties();

/// The properties with any check in place of theirs: what a planted wrong version is made of.
PropertyOf<RowCase> beta_is_active_on_its_interval(RowCheck check);
PropertyOf<RowCase> adaptive_softmax_is_sharper_and_still_disperses(RowCheck check);
PropertyOf<RowCase> paper_entropy_is_short_by_epsilon_n(RowCheck check);

}  // namespace softcheck::proptests
