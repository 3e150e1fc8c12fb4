#include "judge/verdict/value_tally.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace softcheck::proptests {
namespace {

using numerics::Decision;

}  // namespace

void add_errors(ErrorStatistics& errors, const ErrorSums& of_row, double share,
                const std::function<std::string()>& witness) {
  if (std::isfinite(share)) errors.largest_share = std::max(errors.largest_share, share);
  if (of_row.values == 0) return;
  const auto before = static_cast<double>(errors.values), more = static_cast<double>(of_row.values);
  errors.bias_ulps = (errors.bias_ulps * before + of_row.total_ulps) / (before + more);
  errors.values += of_row.values;
  if (!(of_row.worst_ulps > errors.worst_ulps)) return;
  errors.worst_ulps = of_row.worst_ulps;
  errors.worst_allowed_ulps = of_row.worst_allowed;
  errors.worst_witness = witness() + " element=" + std::to_string(of_row.worst_element);
}

ErrorStatistics in_reported_ulps(ErrorStatistics errors, const numerics::Contract& contract) {
  const auto precision = [](numerics::Format format) { return numerics::properties(format).precision; };
  const int fewer = precision(format_of_ulps(contract, contract.output)) - precision(contract.output);
  for (double* ulps : {&errors.worst_ulps, &errors.worst_allowed_ulps, &errors.bias_ulps})
    *ulps = std::ldexp(*ulps, fewer);
  return errors;
}

void ErrorTally::add(const ValueFinding& finding, const std::function<std::string()>& witness) {
  if (finding.by_identity) return;
  add_errors(errors_[std::string(finding.claim)], finding.errors, finding.share(), witness);
}

void WorstFindings::add(ValueFinding finding, std::size_t row) {
  const double share = finding.share();
  const auto found = worst_.find(finding.claim);
  const bool worse = found == worst_.end() || severity(finding.decision) > severity(found->second.finding.decision) ||
                     (finding.decision == found->second.finding.decision && share > found->second.share);
  if (!worse) return;
  const std::string_view claim = finding.claim;
  worst_.insert_or_assign(claim, Worst{std::move(finding), row, share});
}

}  // namespace softcheck::proptests
