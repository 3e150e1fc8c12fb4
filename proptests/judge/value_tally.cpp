#include "proptests/judge/value_tally.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace softcheck::proptests {
namespace {

using numerics::Decision;

}  // namespace

void add_errors(ErrorStatistics& errors, const ValueFinding& finding, double share,
                const std::function<std::string()>& witness) {
  if (std::isfinite(share)) errors.largest_share = std::max(errors.largest_share, share);
  if (finding.errors.values == 0) return;
  const auto before = static_cast<double>(errors.values), more = static_cast<double>(finding.errors.values);
  errors.bias_ulps = (errors.bias_ulps * before + finding.errors.total_ulps) / (before + more);
  errors.values += finding.errors.values;
  if (!(finding.errors.worst_ulps > errors.worst_ulps)) return;
  errors.worst_ulps = finding.errors.worst_ulps;
  errors.worst_allowed_ulps = finding.errors.worst_allowed;
  errors.worst_witness = witness() + " element=" + std::to_string(finding.errors.worst_element);
}

void ErrorTally::add(const ValueFinding& finding, const std::function<std::string()>& witness) {
  if (finding.by_identity) return;
  add_errors(errors_[std::string(finding.claim)], finding, finding.share(), witness);
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
