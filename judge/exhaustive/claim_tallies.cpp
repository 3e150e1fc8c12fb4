#include "judge/exhaustive/claim_tallies.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "judge/sandbox/watched_kernel.hpp"
#include "numerics/enclosures/enclosure.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

// Raises `largest` to the value; NaN means that there is none yet.
void raise(double& largest, double value) { largest = std::isnan(largest) ? value : std::fmax(largest, value); }

}  // namespace

void ClaimTallies::add_proved(std::uint64_t rows, std::span<const double> shares) {
  for (std::size_t k = 0; k < shares.size(); ++k) {
    ClaimSummary& summary = sums_.claims[std::string(subject_.op->claims[k])];
    summary.decided += rows;
    raise(summary.tightest_slack, shares[k]);
  }
}

void ClaimTallies::add_nan_rows(std::uint64_t rows) {
  if (rows == 0) return;
  ClaimSummary& summary = sums_.claims[std::string(nan_claim)];
  summary.decided += rows;
  raise(summary.tightest_slack, 0);
}

void ClaimTallies::add_errors(std::size_t claim, const QuickFindings& found,
                              const std::function<std::string()>& worst) {
  const ErrorSums sums{static_cast<std::size_t>(found.ulps), found.worst_ulps, found.total_ulps, found.worst_allowed,
                       0};
  proptests::add_errors(sums_.errors[std::string(subject_.op->claims[claim])], sums, found.share, worst);
}

// The format of the values that a claim is about: attention's output has the input's format.
Format ClaimTallies::format_of(std::string_view claim) const {
  const bool narrow = subject_.op->is_attention() && (claim == subject_.op->claims[0] || claim == nan_claim);
  return narrow ? subject_.contract.input : subject_.contract.output;
}

void ClaimTallies::fail(const EnumeratedRow& row, const ValueFinding& finding, bool special) {
  const Format format = subject_.contract.input;
  CallDescription asked = proptests::describe_call(subject_.op, format, row);
  if (!special && !subject_.op->is_attention()) {
    asked.numbers = JudgedNumbers{{row.logits.begin(), row.logits.end()}, row.shape.theta};
  }
  const PrecisionScope precision(113);
  Certificate certificate;
  if (finding.claim == nan_claim) {
    KernelEvidence evidence;
    evidence.asked = std::move(asked);
    // Numbers after the output's columns belong to the whole row.
    std::optional<std::size_t> item = finding.item;
    if (subject_.op->is_attention() && item && *item >= row.shape.value_dim) item.reset();
    evidence.value = ReportedValue{item, std::nullopt, "NaN", finding.got, std::nullopt, format_of(nan_claim)};
    certificate = observed(std::string(nan_claim), std::move(evidence), 1);
  } else {
    certificate =
        certificate_of(finding, std::move(asked), format_of_ulps(subject_.contract, format_of(finding.claim)));
  }
  if (!failure_) {
    const bool hidden = std::ranges::all_of(row.logits, [](double x) { return x == -infinity; });
    failure_ = Failure{case_text_of(subject_.op, format, row), row.shape.columns, special || hidden, {}};
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
                              [&] { return case_text_of(subject_.op, subject_.contract.input, row); });
      }
    }
    raise(summary.tightest_slack, share);
    if (share > worst.share) worst = {finding.claim, share, finding.item};
    if (finding.decision != Decision::proved && !failed_before) fail(row, finding, opinion.special);
  }
  return worst;
}

}  // namespace softcheck::proptests
