#include "theory/remark_b_2.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

#include "proptests/properties/network_sequence.hpp"
#include "proptests/properties/properties.hpp"

namespace softcheck::proptests {
namespace {

using Check = std::function<Certificates(const SmallNetworkCase&)>;
using theory::ForgettingBounds;

NetworkOptions bert_networks() {
  NetworkOptions options;
  options.gpt = false;
  options.max_length = std::uint64_t{1} << 40;
  return options;
}

NetworkOptions gpt_networks() {
  NetworkOptions options;
  options.bert = false;
  options.max_length = 40;  // every token is evaluated separately
  return options;
}

std::uint64_t others_of(const SmallNetworkCase& network) { return std::max<std::uint64_t>(network.length, 2) - 1; }

// 2^-1 to 2^-53, derived from the case.
double tolerance_of(const SmallNetworkCase& network) {
  return std::ldexp(1.0, -1 - static_cast<int>(network.seed % 53));
}

}  // namespace

PropertyOf<SmallNetworkCase> bert_forgets(Check check) {
  return {"RemarkB2",
          "ABertNetworkForgetsOneTokenAmongManyOthers",
          {"remark_b_2.bert"},
          network_cases(bert_networks()),
          std::move(check),
          {},
          [](const SmallNetworkCase& network) { return admits(bert_networks(), network); }};
}

PropertyOf<SmallNetworkCase> gpt_forgets(Check check) {
  return {"RemarkB2",
          "TheLaterTokensOfAGptNetworkForgetTheFirst",
          {"remark_b_2.gpt", "remark_b_2.gpt_closed_form"},
          network_cases(gpt_networks()),
          std::move(check),
          {},
          [](const SmallNetworkCase& network) { return admits(gpt_networks(), network); }};
}

PropertyOf<SmallNetworkCase> forgets_below_every_tolerance(Check check) {
  return {
      "RemarkB2", "TheDifferenceFallsBelowEveryTolerance", {"remark_b_2.forgets"}, network_cases(), std::move(check)};
}

std::vector<Property> remark_b_2_properties() {
  const auto bert = [](const SmallNetworkCase& network) {
    const SmallNetworkCase two = with_two_symbols(network);
    const auto model = model_of(two);
    const auto [a, b] = two_symbols_of(two);
    const ForgettingBounds bounds(model, a, b);
    return theory::certify_bert_forgets(bounds, static_cast<double>(others_of(two)), bounds.bert_constants());
  };
  const auto gpt = [](const SmallNetworkCase& network) {
    const SmallNetworkCase two = with_two_symbols(network);
    const auto model = model_of(two);
    const auto [a, b] = two_symbols_of(two);
    const ForgettingBounds bounds(model, a, b);
    const std::size_t others = others_of(two);
    Certificates result = theory::certify_gpt_forgets(bounds, others, bounds.gpt_distances(others + 1));
    for (auto& certificate : theory::certify_gpt_closed_form(bounds, others + 1)) result.push_back(certificate);
    return result;
  };
  const auto forgets = [](const SmallNetworkCase& network) {
    const SmallNetworkCase two = with_two_symbols(network);
    const auto model = model_of(two);
    const auto [a, b] = two_symbols_of(two);
    const ForgettingBounds bounds(model, a, b);
    const double tolerance = tolerance_of(two);
    return theory::certify_forgetting_length(bounds, tolerance, bounds.forgetting_length(tolerance));
  };
  return {bert_forgets(bert), gpt_forgets(gpt), forgets_below_every_tolerance(forgets)};
}

}  // namespace softcheck::proptests
