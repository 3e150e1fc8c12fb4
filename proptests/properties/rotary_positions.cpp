#include "theory/rotary_positions.hpp"

#include <rapidcheck.h>

#include "proptests/properties/properties.hpp"
#include "proptests/properties/row_levels.hpp"

namespace softcheck::proptests {
namespace {

template <class Certify>
BallCheck on_rotary_heads(Certify certify) {
  return [certify](const ProjectionCase& projection) {
    Certificates all;
    for (const theory::RotaryHead& head : rotary_heads(projection)) append(all, certify(head));
    return all;
  };
}

}  // namespace

PropertyOf<ProjectionCase> turns_keep_weighted_lengths(BallCheck check) {
  return {"RotaryPositions",
          "OneWeightAPlaneCommutesWithEveryTurn",
          {"rotary_positions.isometry"},
          ball_head_cases(),
          std::move(check)};
}

PropertyOf<ProjectionCase> rotary_logits_within_forms(BallCheck check) {
  return {"RotaryPositions",
          "NoLagGivesALogitAboveItsForm",
          {"rotary_positions.logit"},
          ball_head_cases(),
          std::move(check)};
}

PropertyOf<ProjectionCase> rotary_spreads_within_forms(BallCheck check) {
  return {"RotaryPositions",
          "LogitsAtWhateverLagsStayWithinTheSpread",
          {"rotary_positions.spread"},
          ball_head_cases(),
          std::move(check)};
}

PropertyOf<ProjectionCase> qk_norm_logits_within_form(BallCheck check) {
  return {"RotaryPositions",
          "TheGainsOfAPlaneBoundTheLogitsOfQkNorm",
          {"rotary_positions.qk_norm"},
          ball_head_cases(),
          std::move(check)};
}

std::vector<Property> rotary_positions_properties() {
  const auto isometry = [](const ProjectionCase& projection) {
    return theory::certify_isometry(rotary_heads(projection).front());
  };
  const auto logits = [](const theory::RotaryHead& head) {
    return theory::certify_rotary_logit(head, balanced_t(head.head));
  };
  const auto spreads = [](const theory::RotaryHead& head) {
    return theory::certify_rotary_spread(head, balanced_t(head.head));
  };
  const auto qk_norm = [](const ProjectionCase& projection) {
    Certificates all;
    for (const theory::QkNormHead& head : qk_norm_heads(projection)) all.push_back(theory::certify_qk_norm(head));
    return all;
  };
  return {turns_keep_weighted_lengths(isometry), rotary_logits_within_forms(on_rotary_heads(logits)),
          rotary_spreads_within_forms(on_rotary_heads(spreads)), qk_norm_logits_within_form(qk_norm)};
}

}  // namespace softcheck::proptests
