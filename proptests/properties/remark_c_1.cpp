#include "theory/remark_c_1.hpp"

#include <rapidcheck.h>

#include <algorithm>

#include "proptests/properties/network_sequence.hpp"
#include "proptests/properties/properties.hpp"

namespace softcheck::proptests {
namespace {

using Check = std::function<Certificates(const SmallNetworkCase&)>;

NetworkOptions residual_networks() {
  NetworkOptions options;
  options.without = false;
  return options;
}

NetworkOptions residual_free_bert() {
  NetworkOptions options;
  options.with_residual = false;
  options.gpt = false;
  return options;
}

// Runs the check on the case's own sequence, in a network with at least min_depth layers.
template <class Certify>
Check on_sequence(Certify certify, int min_depth = 1) {
  return [=](SmallNetworkCase network) {
    network.depth = std::max(network.depth, min_depth);
    const auto model = model_of(network);
    theory::TraceLadder trace(model, runs_of(network));
    return certify(trace);
  };
}

}  // namespace

PropertyOf<SmallNetworkCase> rows_differ_by_dispersion(Check check) {
  return {"RemarkC1",
          "TwoRowsOfALayerDifferByNoMoreThanItsDispersionAllows",
          {"remark_c_1.outputs"},
          network_cases(),
          std::move(check)};
}

PropertyOf<SmallNetworkCase> residuals_keep_the_spread(Check check) {
  return {"RemarkC1",
          "AResidualConnectionAddsTheSpreadOfItsInputs",
          {"remark_c_1.residual"},
          network_cases(residual_networks()),
          std::move(check),
          {},
          [](const SmallNetworkCase& network) { return admits(residual_networks(), network); }};
}

PropertyOf<SmallNetworkCase> next_spread_is_bounded(Check check) {
  return {"RemarkC1",
          "TheSpreadBehindADispersedLayerIsSmall",
          {"remark_c_1.next_spread"},
          network_cases(),
          std::move(check)};
}

PropertyOf<SmallNetworkCase> dispersed_layer_averages(Check check) {
  return {"RemarkC1",
          "AFullyDispersedLayerTakesMeansOverAllItemsOrOverPrefixes",
          {"remark_c_1.fully_dispersed"},
          network_cases(),
          std::move(check)};
}

PropertyOf<SmallNetworkCase> no_later_spread(Check check) {
  return {"RemarkC1",
          "BehindAFullyDispersedLayerEverySpreadIsZero",
          {"remark_c_1.later_spread"},
          network_cases(residual_free_bert()),
          std::move(check),
          {},
          [](const SmallNetworkCase& network) { return admits(residual_free_bert(), network); }};
}

std::vector<Property> remark_c_1_properties() {
  using theory::TraceLadder;
  return {
      rows_differ_by_dispersion(on_sequence([](TraceLadder& trace) { return certify_row_outputs(trace); })),
      residuals_keep_the_spread(on_sequence([](TraceLadder& trace) { return certify_residual_outputs(trace); })),
      next_spread_is_bounded(on_sequence([](TraceLadder& trace) { return certify_next_spread(trace); }, 2)),
      dispersed_layer_averages(on_sequence([](TraceLadder& trace) { return certify_fully_dispersed(trace); })),
      no_later_spread(on_sequence([](TraceLadder& trace) { return certify_later_spread(trace); }, 2)),
  };
}

}  // namespace softcheck::proptests
