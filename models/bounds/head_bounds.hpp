#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/bounds/head_values.hpp"
#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::models {

/// A supremum: lower is reached by inputs that the head's domain allows, upper is proved.
struct Supremum {
  double lower = 0;
  double upper = 0;
};

/// What bounds the logits of one head over everything its normalisation lets it see, at every depth and length. In the
/// unit of the logits, before a softcap. product, folded and joint are the values of the forms
/// of theory/norm_ellipsoid.hpp and rotary_positions.hpp, enclosed; spread.upper is at most any of them. Without rotary
/// positions joint <= folded <= product; with them joint has one weight a plane, folded the same one for all.
struct HeadBounds {
  numerics::Enclosure product, folded, joint;
  Supremum spread;                             // max e_j - min e_j of one query
  Supremum logit;                              // max |e|
  std::optional<Supremum> context_spread;      // of an input with as many items as were asked about
  double attained_high = 0, attained_low = 0;  // two logits of one query: high - low >= spread.lower
};

/// The head without rotary positions.
HeadBounds bound_plain_head(const ProjectionValues& query, const ProjectionValues& key,
                            const numerics::Enclosure& scale);

/// The head with them.
///
/// scale    with the square of the rotary factor
/// lags     how far apart items may stand where the lower ends are sought, >= 2
/// causal   keys stand before their query
HeadBounds bound_rotary_head(const ProjectionValues& query, const ProjectionValues& key,
                             const numerics::Enclosure& scale, const Rotary& rotary, std::int64_t lags, bool causal);

/// A head whose queries and keys are normed themselves (QK-norm): the gains alone count, and every form is closed.
/// product and folded are 2 s sqrt(rq rk) max |w_q| max |w_k|, joint and best have the largest gain of a plane.
///
/// rotary   none: without rotary positions
/// lags     how far apart items may stand where the lower ends are sought, and 1
HeadBounds bound_normed_head(const ProjectionValues& query, const ProjectionValues& key,
                             const numerics::Enclosure& scale, const Rotary* rotary, std::int64_t lags);

/// Such a head's largest |logit| at lags below so many, in either direction: by plane and lag.
double largest_normed_logit(const ProjectionValues& query, const ProjectionValues& key,
                            const numerics::Enclosure& scale, const Rotary* rotary, std::int64_t lags);

}  // namespace softcheck::models
