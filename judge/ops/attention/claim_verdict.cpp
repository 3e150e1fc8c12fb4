#include "judge/ops/attention/claim_verdict.hpp"

#include <cmath>
#include <utility>

#include "judge/ops/rows/judged_row.hpp"
#include "numerics/enclosures/decision.hpp"
#include "numerics/enclosures/interruption.hpp"
#include "numerics/formats/next_double.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/flushed_output.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

// The decision in long double; undecided if its error is too large.
Decision decide(double got, const LongApproximation& exact, double threshold) {
  const long double difference = std::fabs(static_cast<long double>(got) - exact.value);
  const auto allowed = static_cast<long double>(threshold);
  if (difference * (1 + 0x1p-40L) + exact.error <= allowed * (1 - 0x1p-40L)) return Decision::proved;
  const bool beyond = difference * (1 - 0x1p-40L) - exact.error > allowed * (1 + 0x1p-40L);
  return beyond ? Decision::violated : Decision::undecided;
}

// After cancellation an error in ulps means nothing.
void count(ErrorSums& errors, Format format, const Judgeable& value, double got, std::size_t element) {
  const auto exact = static_cast<double>(value.exact.value);
  if (!(2 * std::fabs(exact) >= value.magnitude && std::fabs(exact) >= value.resolution)) return;
  errors.add(format, exact, static_cast<double>(static_cast<long double>(got) - value.exact.value), element,
             value.threshold);
}

}  // namespace

double granted(const Contract& contract, const Judgeable& value) {
  const auto lower = static_cast<double>(value.exact.value - value.exact.error),
             higher = static_cast<double>(value.exact.value + value.exact.error);
  return most_granted(contract, value.threshold, next_below(lower), next_above(higher));
}

bool ClaimVerdict::Verdict::worse_than(const Verdict& other) const {
  return severity(decision) != severity(other.decision) ? severity(decision) > severity(other.decision)
                                                        : share > other.share;
}

ClaimVerdict::ClaimVerdict(std::string_view claim, const Contract& contract,
                           std::function<Enclosure(std::optional<std::size_t>)> enclosed, RowVerdicts& verdicts)
    : claim_(claim), contract_(contract), enclosed_(std::move(enclosed)), verdicts_(verdicts) {}

ClaimVerdict::Verdict ClaimVerdict::verdict_of(std::optional<std::size_t> item, const Judgeable& value,
                                               double got) const {
  if (is_overflow(contract_.output, got, std::signbit(got)) &&
      overflows_rightly(contract_, got, value.exact.enclosure(), value.threshold)) {
    return {Decision::proved, true, false, 0};
  }
  if (!std::isfinite(got)) return {Decision::violated, false, false, infinity};
  const auto error = static_cast<double>(std::fabs(static_cast<long double>(got) - value.exact.value));
  const double share = value.threshold > 0 ? error / value.threshold : error > 0 ? infinity : 0;
  Decision decision = decide(got, value.exact, value.threshold);
  const bool close = decision == Decision::undecided;
  if (close) {
    decision = escalate([&] { return less_equal(abs(Enclosure(got) - enclosed_(item)), Enclosure(value.threshold)); });
  }
  return {decision, false, close, share};
}

// For values whose threshold says nothing: does the value keep the general limits?
bool ClaimVerdict::keeps_limits(std::optional<std::size_t> item, const Judgeable& value, double got) {
  ResultLimits limits = value.limits;
  if (keeps(limits, got)) return true;
  limits.may_overflow = limits.may_overflow || may_overflow(contract_.accumulator, value.magnitude);
  if (const auto found = broken_limit(claim_, item, contract_, got, value.exact.enclosure(), limits)) {
    verdicts_.findings.push_back(*found);
    return false;
  }
  return true;
}

void ClaimVerdict::add(std::optional<std::size_t> item, const Judgeable& granted, double got) {
  throw_if_interrupted();
  Judgeable value = granted;
  value.threshold = threshold_of_result(contract_, granted.threshold, got);
  // After an overflow the value does not count for vacuity.
  const double resolution = value.limits.may_overflow ? infinity : value.resolution;
  verdicts_.vacuity.add(contract_, value.magnitude, resolution, value.vacuous);
  const bool bounded = value.threshold < infinity;
  if ((!bounded || (value.vacuous && std::isfinite(got))) && !keeps_limits(item, value, got)) return;
  if (!bounded) return;
  count(errors_, contract_.output, value, got, item.value_or(0));
  const Verdict verdict = verdict_of(item, value, got);
  if (!worst_ || verdict.worse_than(worst_->verdict)) worst_ = Worst{item, value, got, verdict};
}

void ClaimVerdict::report() {
  if (!worst_) return;
  ValueFinding finding;
  finding.claim = claim_;
  finding.item = worst_->item;
  finding.got = worst_->got;
  finding.threshold = worst_->value.threshold;
  finding.expected = worst_->verdict.close ? enclosed_(worst_->item) : worst_->value.exact.enclosure();
  finding.decision = worst_->verdict.decision;
  finding.by_identity = worst_->verdict.overflow;
  finding.errors = errors_;
  verdicts_.findings.push_back(std::move(finding));
}

}  // namespace softcheck::proptests
