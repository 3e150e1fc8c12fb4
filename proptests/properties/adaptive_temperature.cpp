#include "theory/adaptive_temperature.hpp"

#include <rapidcheck.h>

#include "proptests/properties/properties.hpp"

namespace softcheck::proptests {

PropertyOf<RowCase> beta_is_active_on_its_interval(RowCheck check) {
  return {
      "AdaptiveTemperature",
      "BetaExceedsOneExactlyOnTheActiveIntervalAndNeverItsMaximum",
      {"adaptive_temperature.active_interval", "adaptive_temperature.maximum", "adaptive_temperature.range",
       "adaptive_temperature.dead_guard", "adaptive_temperature.inactive_for_two", "adaptive_temperature.lipschitz"},
      row_cases(),
      std::move(check)};
}

PropertyOf<RowCase> adaptive_softmax_is_sharper_and_still_disperses(RowCheck check) {
  return {"AdaptiveTemperature",
          "AdaptiveSoftmaxIsNoFlatterAndStillDisperses",
          {"adaptive_temperature.never_increases_entropy", "adaptive_temperature.disperses",
           "adaptive_temperature.identity"},
          row_cases(),
          std::move(check)};
}

PropertyOf<RowCase> paper_entropy_is_short_by_epsilon_n(RowCheck check) {
  return {"AdaptiveTemperature",
          "ThePaperEntropyIsShortByAtMostEpsilonTimesTheLength",
          {"adaptive_temperature.epsilon_gap"},
          row_cases(),
          std::move(check)};
}

std::vector<Property> adaptive_temperature_properties() {
  const auto beta = [](const RowCase& row_case) {
    static const Certificates quartic = theory::certify_quartic();  // equal for all rows
    Certificates all = theory::certify_beta(levels_of(row_case), row_case.theta);
    append(all, quartic);
    return all;
  };
  const auto softmax = [](const RowCase& row_case) {
    return theory::certify_adaptive_softmax(levels_of(row_case), row_case.theta);
  };
  const auto epsilon = [](const RowCase& row_case) {
    return theory::certify_epsilon_gap(levels_of(row_case), row_case.theta);
  };
  return {beta_is_active_on_its_interval(beta), adaptive_softmax_is_sharper_and_still_disperses(softmax),
          paper_entropy_is_short_by_epsilon_n(epsilon)};
}

}  // namespace softcheck::proptests
