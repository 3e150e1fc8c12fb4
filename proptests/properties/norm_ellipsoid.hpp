#pragma once

#include <vector>

#include "proptests/engine/property.hpp"
#include "proptests/properties/ball_heads.hpp"
#include "proptests/properties/row_levels.hpp"

namespace softcheck::proptests {

std::vector<Property> norm_ellipsoid_properties();

// The properties with any check in place of theirs: what a planted wrong version is made of. The vector that a norm
// sees is the row, its epsilon the row's theta.
PropertyOf<RowCase> norms_end_in_the_ball(RowCheck check);
PropertyOf<ProjectionCase> ball_spreads_within_forms(BallCheck check);
PropertyOf<ProjectionCase> opposite_keys_attain_the_spread(BallCheck check);
PropertyOf<ProjectionCase> ball_logits_within_forms(BallCheck check);
PropertyOf<ProjectionCase> sharper_ball_forms_are_not_wider(BallCheck check);

}  // namespace softcheck::proptests
