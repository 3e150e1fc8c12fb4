#include "judge/results/identity_finding.hpp"

#include <algorithm>
#include <cmath>

#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {

ValueFinding identity_finding(std::string_view claim, bool holds, double got, std::optional<std::size_t> item,
                              std::string_view reason) {
  ValueFinding finding;
  finding.claim = claim;
  finding.item = item;
  finding.got = got;
  finding.decision = holds ? numerics::Decision::proved : numerics::Decision::violated;
  finding.by_identity = true;
  finding.reason = holds ? "" : reason;
  return finding;
}

ValueFinding nan_finding(std::span<const double> got, std::size_t elements, std::string_view reason) {
  const auto number = std::ranges::find_if(got, [](double value) { return !std::isnan(value); });
  const bool holds = number == got.end();
  const double shown = holds ? numerics::nan : *number;
  const auto place = static_cast<std::size_t>(number - got.begin());
  const auto item = holds || place >= elements ? std::nullopt : std::optional(place);
  return identity_finding("kernel.nan_row", holds, shown, item, reason);
}

}  // namespace softcheck::proptests
