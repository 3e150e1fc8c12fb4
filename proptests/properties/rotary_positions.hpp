#pragma once

#include <vector>

#include "proptests/engine/property.hpp"
#include "proptests/properties/ball_heads.hpp"

namespace softcheck::proptests {

std::vector<Property> rotary_positions_properties();

/// The properties with any check in place of theirs: what a planted wrong version is made of.
PropertyOf<ProjectionCase> turns_keep_weighted_lengths(BallCheck check);
PropertyOf<ProjectionCase> rotary_logits_within_forms(BallCheck check);
PropertyOf<ProjectionCase> rotary_spreads_within_forms(BallCheck check);
PropertyOf<ProjectionCase> qk_norm_logits_within_form(BallCheck check);

}  // namespace softcheck::proptests
