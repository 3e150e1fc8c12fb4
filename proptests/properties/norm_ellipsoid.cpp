#include "theory/norm_ellipsoid.hpp"

#include <rapidcheck.h>

#include "proptests/properties/properties.hpp"

namespace softcheck::proptests {
namespace {

RowOptions vectors() {
  RowOptions options;
  options.max_length = 256;
  options.max_literal = 256;
  options.masks = false;
  return options;
}

template <class Certify>
BallCheck on_ball_heads(Certify certify) {
  return [certify](const ProjectionCase& projection) {
    Certificates all;
    for (const theory::BallHead& head : ball_heads(projection)) append(all, certify(head));
    return all;
  };
}

}  // namespace

PropertyOf<RowCase> norms_end_in_the_ball(RowCheck check) {
  return {"NormEllipsoid",
          "ANormPutsEveryVectorIntoTheBall",
          {"norm_ellipsoid.layer_norm", "norm_ellipsoid.rms_norm"},
          row_cases(vectors()),
          std::move(check)};
}

PropertyOf<ProjectionCase> ball_spreads_within_forms(BallCheck check) {
  return {"NormEllipsoid",
          "TheSpreadIsAtMostEveryForm",
          {"norm_ellipsoid.spread", "norm_ellipsoid.joint", "norm_ellipsoid.folded"},
          ball_head_cases(),
          std::move(check)};
}

PropertyOf<ProjectionCase> opposite_keys_attain_the_spread(BallCheck check) {
  return {"NormEllipsoid",
          "TwoOppositeKeysAttainTheSpread",
          {"norm_ellipsoid.attained"},
          ball_head_cases(),
          std::move(check)};
}

PropertyOf<ProjectionCase> ball_logits_within_forms(BallCheck check) {
  return {"NormEllipsoid", "NoLogitExceedsItsForm", {"norm_ellipsoid.logit"}, ball_head_cases(), std::move(check)};
}

PropertyOf<ProjectionCase> sharper_ball_forms_are_not_wider(BallCheck check) {
  return {
      "NormEllipsoid", "ASharperFormIsNeverWider", {"norm_ellipsoid.ordering"}, ball_head_cases(), std::move(check)};
}

std::vector<Property> norm_ellipsoid_properties() {
  const auto norms = [](const RowCase& row_case) {
    const std::vector<double> input = row_case.row.expand();
    Certificates all = theory::certify_norm(theory::Norm::layer_norm, input, row_case.theta);
    append(all, theory::certify_norm(theory::Norm::rms_norm, input, row_case.theta));
    return all;
  };
  const auto spreads = [](const theory::BallHead& head) {
    Certificates all = theory::certify_folded_forms(head);
    for (const double t : {balanced_t(head), 0.25}) append(all, theory::certify_ellipsoid_spread(head, t));
    return all;
  };
  const auto attained = [](const theory::BallHead& head) {
    return Certificates{theory::certify_spread_attained(head)};
  };
  const auto logits = [](const theory::BallHead& head) {
    Certificates all;
    for (const double t : {balanced_t(head), 0.25}) append(all, theory::certify_ellipsoid_logit(head, t));
    return all;
  };
  const auto ordering = [](const theory::BallHead& head) { return theory::certify_ball_ordering(head); };
  return {norms_end_in_the_ball(norms), ball_spreads_within_forms(on_ball_heads(spreads)),
          opposite_keys_attain_the_spread(on_ball_heads(attained)), ball_logits_within_forms(on_ball_heads(logits)),
          sharper_ball_forms_are_not_wider(on_ball_heads(ordering))};
}

}  // namespace softcheck::proptests
