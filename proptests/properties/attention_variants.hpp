#pragma once

#include <vector>

#include "proptests/engine/property.hpp"
#include "proptests/properties/row_levels.hpp"

namespace softcheck::proptests {

std::vector<Property> attention_variants_properties();

/// Sinks for a row: at its ends, between them, and four theta above and below.
std::vector<double> sinks_of(const RowCase& row_case);

// The properties with any check in place of theirs: what a planted wrong version is made of. The cap of the logits is
// the row's theta.
PropertyOf<RowCase> windows_keep_coefficients_up(RowCheck check);
PropertyOf<RowCase> sinks_take_from_the_items(RowCheck check);
PropertyOf<RowCase> sinks_count_as_items(RowCheck check);
PropertyOf<RowCase> caps_bound_logits(RowCheck check);

}  // namespace softcheck::proptests
