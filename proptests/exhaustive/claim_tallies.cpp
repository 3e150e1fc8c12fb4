#include "proptests/exhaustive/claim_tallies.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "numerics/enclosures/enclosure.hpp"
#include "numerics/formats/special_values.hpp"
#include "proptests/judge/calls/asked_row.hpp"
#include "proptests/judge/calls/watched_kernel.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

constexpr std::string_view nan_claim = "kernel.nan_row", infinite_claim = "kernel.infinite_row";

// The largest of what was seen; nothing is yet.
void raise(double& largest, double value) { largest = std::isnan(largest) ? value : std::fmax(largest, value); }

}  // namespace

bool is_nan_as_due(const EnumeratedRow& row) {
  const auto is_nan = [](double x) { return x != x; };
  return std::ranges::any_of(row.logits, is_nan) && std::ranges::all_of(row.got, is_nan);
}

RowOpinion opinion_of(Op op, const Contract& contract, const EnumeratedRow& row) {
  RowOpinion opinion;
  const bool has_nan = std::ranges::any_of(row.logits, [](double x) { return std::isnan(x); });
  const bool infinite = std::ranges::find(row.logits, infinity) != row.logits.end();
  opinion.special = has_nan || infinite;
  if (has_nan) {
    const auto wrong = std::ranges::find_if(row.got, [](double x) { return !std::isnan(x); });
    const bool right = wrong == row.got.end();
    ValueFinding finding{nan_claim, std::nullopt, Enclosure(0), right ? nan : *wrong, 0, Decision::proved, {}, true};
    finding.item = right ? 0 : static_cast<std::size_t>(wrong - row.got.begin());
    if (!right) finding.decision = Decision::violated;
    opinion.findings.push_back(std::move(finding));
    return opinion;
  }
  if (infinite) {
    opinion.findings = judge_limit(op, contract, row.logits, row.theta, row.got).findings;
    for (ValueFinding& finding : opinion.findings) finding.claim = infinite_claim;
    return opinion;
  }
  RowVerdicts verdicts = judge_values(op, contract, row.logits, row.theta, row.got);
  opinion.findings = std::move(verdicts.findings);
  opinion.vacuity = verdicts.vacuity;
  return opinion;
}

void ClaimTallies::add_proved(std::uint64_t rows, double share, double row_sum_share) {
  for (std::size_t k = 0; k < subject_.op->claims.size(); ++k) {
    ClaimSummary& summary = sums_.claims[std::string(subject_.op->claims[k])];
    summary.decided += rows;
    raise(summary.tightest_slack, k == 0 ? share : row_sum_share);
  }
}

void ClaimTallies::add_nan_rows(std::uint64_t rows) {
  if (rows == 0) return;
  ClaimSummary& summary = sums_.claims[std::string(nan_claim)];
  summary.decided += rows;
  raise(summary.tightest_slack, 0);
}

void ClaimTallies::add_errors(const QuickFindings& found, const std::string& worst) {
  const ErrorSums sums{static_cast<std::size_t>(found.ulps), found.worst_ulps, found.total_ulps, found.worst_allowed,
                       0};
  proptests::add_errors(sums_.errors[std::string(subject_.op->claims[0])], sums, found.share, [&] { return worst; });
}

void ClaimTallies::fail(const EnumeratedRow& row, const ValueFinding& finding, bool special) {
  const RowMatrixCase matrix = row_as_case(subject_.contract.input, row.bytes, row.theta);
  Asked asked = asked_of(matrix, subject_.op, subject_.contract.input, "", 0);
  if (!special) asked.numbers = JudgedNumbers{{row.logits.begin(), row.logits.end()}, row.theta};
  const PrecisionScope precision(113);
  Certificate certificate;
  if (finding.claim == nan_claim) {
    KernelEvidence evidence;
    evidence.asked = std::move(asked);
    evidence.value = ShownValue{finding.item, std::nullopt, "NaN", finding.got, std::nullopt, subject_.contract.output};
    certificate = observed(std::string(nan_claim), std::move(evidence), 1);
  } else {
    certificate = certificate_of(finding, std::move(asked), subject_.contract.output);
  }
  if (!failure_) {
    const bool hidden = std::ranges::all_of(row.logits, [](double x) { return x == -infinity; });
    failure_ = Failure{special || hidden ? to_text(matrix) : text_of(matrix), row.logits.size(), special || hidden, {}};
  }
  failure_->failed.push_back(std::move(certificate));
}

ClaimTallies::Worst ClaimTallies::add(const EnumeratedRow& row, RowOpinion opinion, bool counted) {
  Worst worst;
  sums_.vacuity += opinion.vacuity;
  const bool failed_before = failure_.has_value();
  for (ValueFinding& finding : opinion.findings) {
    const std::string claim(finding.claim);
    if (finding.decision != Decision::proved && subject_.exempt.contains(claim)) {
      sums_.notes.insert("does not hold, as known: " + claim);
      continue;
    }
    ClaimSummary& summary = sums_.claims[claim];
    const double share = finding.share();
    if (counted) {
      ++(finding.decision == Decision::undecided ? summary.undecided : summary.decided);
      if (!finding.by_identity) {
        proptests::add_errors(sums_.errors[claim], finding.errors, share,
                              [&] { return text_of(row_as_case(subject_.contract.input, row.bytes, row.theta)); });
      }
    }
    raise(summary.tightest_slack, share);
    if (share > worst.share) worst = {finding.claim, share};
    if (finding.decision != Decision::proved && !failed_before) fail(row, finding, opinion.special);
  }
  return worst;
}

}  // namespace softcheck::proptests
