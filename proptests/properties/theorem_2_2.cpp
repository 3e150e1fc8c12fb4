#include "theory/theorem_2_2.hpp"

#include <rapidcheck.h>

#include <cmath>

#include "proptests/properties/network_sequence.hpp"
#include "proptests/properties/properties.hpp"
#include "proptests/properties/row_levels.hpp"

namespace softcheck::proptests {
namespace {

// Like the sequence, epsilon is derived from the case: 2^-1 to 2^-20.
double epsilon_of(const SmallNetworkCase& network) { return std::ldexp(1.0, -1 - static_cast<int>(network.seed % 20)); }

}  // namespace

PropertyOf<SmallNetworkCase> activations_stay_in_their_boxes(NetworkCheck check) {
  return {"Theorem22", "EveryActivationStaysInItsBox", {"theorem_2_2.boxed"}, network_cases(), std::move(check)};
}

PropertyOf<SmallNetworkCase> spreads_are_bounded(NetworkCheck check) {
  return {"Theorem22",
          "TheSpreadOfEveryHeadIsBoundedAtEveryLength",
          {"theorem_2_2.spread_bounded"},
          network_cases(),
          std::move(check)};
}

PropertyOf<SmallNetworkCase> every_head_disperses(NetworkCheck check) {
  return {"Theorem22",
          "EveryCoefficientOfEveryHeadFallsBelowEpsilon",
          {"theorem_2_2.disperses"},
          network_cases(),
          std::move(check)};
}

PropertyOf<SmallNetworkCase> sharp_length_is_shorter(NetworkCheck check) {
  return {"Theorem22",
          "TheSharpLengthIsNotLongerThanThePapers",
          {"theorem_2_2.sharp_length"},
          network_cases(),
          std::move(check)};
}

PropertyOf<NormedHeadCase> normed_heads_disperse(NormedHeadCheck check) {
  return {"Theorem22",
          "EveryHeadBehindANormDispersesWhateverItsInputs",
          {"theorem_2_2.normalised"},
          normed_head_cases(),
          std::move(check)};
}

std::vector<Property> theorem_2_2_properties() {
  const auto boxed = [](const SmallNetworkCase& network) {
    const auto model = model_of(network);
    theory::TraceLadder trace(model, runs_of(network));
    return theory::certify_boxed(trace, theory::bound_spreads(model));
  };
  const auto bounded = [](const SmallNetworkCase& network) {
    const auto model = model_of(network);
    theory::TraceLadder trace(model, runs_of(network));
    return theory::certify_spreads(trace, theory::bound_spreads(model));
  };
  const auto disperses = [](const SmallNetworkCase& network) {
    const auto model = model_of(network);
    const auto bounds = theory::bound_spreads(model);
    const double epsilon = epsilon_of(network);
    theory::TraceLadder trace(model, theory::lengthened(model, runs_of(network), bounds.spread, epsilon));
    return theory::certify_dispersal(trace, bounds, epsilon);
  };
  const auto sharp = [](const SmallNetworkCase& network) {
    const auto model = model_of(network);
    return Certificates{
        theory::certify_sharp_length(theory::bound_spreads(model).spread, model.shape.theta, epsilon_of(network))};
  };
  const auto normed = [](const NormedHeadCase& head_case) {
    Certificates all;
    for (const NormedSequence& sequence : normed_sequences(head_case)) {
      const double spread = theory::normalised_spread(sequence.head);
      append(all, theory::certify_normalised(sequence.head, sequence.query, sequence.items, spread, 0x1p-7));
    }
    return all;
  };
  return {activations_stay_in_their_boxes(boxed), spreads_are_bounded(bounded), every_head_disperses(disperses),
          sharp_length_is_shorter(sharp), normed_heads_disperse(normed)};
}

}  // namespace softcheck::proptests
