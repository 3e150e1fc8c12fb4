#include "judge/ops/rows/row_elements.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "judge/ops/rows/judged_row.hpp"
#include "numerics/enclosures/coarse.hpp"
#include "numerics/enclosures/interruption.hpp"
#include "numerics/formats/next_double.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/flushed_output.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

// Decides |got - value| <= threshold; value() computes the exact value at each working precision.
template <class Value>
Decision decide(double got, double threshold, Value&& value) {
  if (!std::isfinite(got)) return Decision::violated;
  if (threshold == infinity) return Decision::proved;
  return escalate([&] { return less_equal(abs(Enclosure(got) - value()), Enclosure(threshold)); });
}

// The first value that breaks a rule without a threshold.
std::optional<ValueFinding> broken_rule(const RowOp& op, Extent extent, const JudgedRow& row, RowElements& elements) {
  if (extent != Extent::items) return std::nullopt;
  // If the log-sum-exp overflows, nothing is promised, not even for masked items.
  if (elements.promised || !may_overflow(row)) {
    if (auto found = masked_item_that_is_not(op.nothing(), elements.claim(), row)) return found;
  }
  if (row.got.empty() || !elements.are_coefficients()) return std::nullopt;
  return coefficient_out_of_range(elements.claim(), row, [&](std::size_t i) { return elements.excess(i); });
}

// A long double is the sum of two doubles (64 bits) or three (113 bits, aarch64), except below the smallest double.
// Above the largest double the enclosure is the whole line.
Enclosure enclosed(long double value) {
  const auto high = static_cast<double>(value);
  if (!std::isfinite(high)) return Enclosure::between(-infinity, infinity);
  const auto middle = static_cast<double>(value - high);
  const auto low = static_cast<double>(value - high - middle);
  return Enclosure(high) + Enclosure(middle) + Enclosure(low);
}

Enclosure enclosed(const Quick& quick) {
  const double error = next_above(static_cast<double>(quick.error));
  return enclosed(quick.value) + Enclosure::between(-error, error);
}

Decision decide_element(const JudgedRow& row, RowElements& elements, std::size_t i, const Quick& quick,
                        double allowed) {
  const double got = row.got[i];
  const Decision decision = quick.within(allowed, got);
  return decision == Decision::undecided ? decide(got, allowed, [&] { return elements.value(i); }) : decision;
}

// For values whose threshold says nothing: the general limit that value i breaks.
std::optional<ValueFinding> broken_limit(const JudgedRow& row, RowElements& elements, std::size_t i, double metric) {
  const double got = row.got[i];
  ResultLimits limits = elements.limits(i);
  if (keeps(limits, got)) return std::nullopt;
  limits.may_overflow =
      limits.may_overflow || may_overflow(row.contract.accumulator, metric) || proptests::may_overflow(row);
  return proptests::broken_limit(elements.claim(), i, row.contract, got, elements.value(i), limits);
}

// The thresholds of one item, and the decision for the last value there.
struct SaidOfItem {
  struct Grants {
    Quick quick{0, 0};
    double allowed = 0, metric = 0;
    bool vacuous = false;
  };
  std::optional<std::size_t> item;
  Grants grants;
  double got = 0;
  std::optional<Decision> decision;  // for got; none for a NaN, which never compares equal
};

SaidOfItem said_of(RowElements& elements, std::size_t i) {
  SaidOfItem said;
  said.item = i;
  said.grants.quick = elements.quick(i);
  said.grants.allowed = elements.threshold(i);
  said.grants.metric = elements.metric(i, std::fabs(static_cast<double>(said.grants.quick.value)));
  // A threshold below the metric is not vacuous. Testing this first saves is_vacuous(), which costs as much as the
  // threshold.
  const double allowed = said.grants.allowed, metric = said.grants.metric;
  said.grants.vacuous =
      allowed == infinity || (numerics::is_vacuous(allowed, metric) && elements.is_vacuous(i, metric));
  return said;
}

}  // namespace

Decision Quick::within(double threshold, double got) const {
  // One rounding in the difference, one in the sum.
  const long double distance = std::fabs(got - value);
  const long double margin = error + 2 * two_roundings * (distance + error);
  if (distance + margin <= threshold) return Decision::proved;
  return distance - margin > threshold ? Decision::violated : Decision::undecided;
}

UpperBound size_of(const Quick& quick) {
  const auto above = static_cast<double>((std::fabs(quick.value) + quick.error) * (1 + 0x1p-50L));
  return coarse(UpperBound(next_above(above)));
}

Quick RowElements::quick(std::size_t i) { return quick_of(value(i)); }

Quick quick_of(const Enclosure& exact) {
  const long double middle = nearest(exact);
  if (!std::isfinite(middle)) {  // the middle of the whole line is NaN
    return {std::isnan(middle) ? 0 : middle, std::numeric_limits<long double>::infinity()};
  }
  return {middle, abs(exact - enclosed(middle)).upper_double() + 0x1p-1074L};
}

void judge_elements(const RowOp& op, Extent extent, const JudgedRow& row, RowElements& elements,
                    RowVerdicts& verdicts) {
  // After an overflow the row does not count for vacuity.
  if (may_overflow(row)) {
    elements.resolved = false;
    elements.resolution = infinity;
  }
  verdicts.vacuity.add_row(!elements.promised, elements.resolved);
  if (const auto found = broken_rule(op, extent, row, elements)) {
    verdicts.findings.push_back(*found);
    return;
  }
  ValueFinding worst{elements.claim(), std::nullopt, Enclosure(0), 0, 0, Decision::proved, {}, false};
  double most_used = 0;
  std::optional<std::size_t> shown;
  SaidOfItem said;
  for (std::size_t i = 0; i < row.got.size(); ++i) {
    throw_if_interrupted();
    if (extent == Extent::items && !std::isfinite(row.logits[i])) continue;
    const double got = row.got[i];
    if (!said.item || *said.item + 1 != i || !elements.repeats(i)) {
      said = said_of(elements, i);
    } else {
      said.item = i;
      if (said.got != got) said.decision.reset();
    }
    said.got = got;
    const auto& [quick, granted, metric, vacuous] = said.grants;
    const double allowed = threshold_of_result(row.contract, granted, got);
    const auto exact = static_cast<double>(quick.value);
    const bool counted = verdicts.vacuity.add(row.contract, metric, elements.resolution, vacuous);
    if (counted) worst.errors.add(row.contract.output, exact, static_cast<double>(got - quick.value), i, allowed);
    if (allowed == infinity || (vacuous && std::isfinite(got))) {
      const auto broken = broken_limit(row, elements, i, metric);
      if (broken && !elements.overflows(i)) {
        verdicts.findings.push_back(*broken);
        return;
      }
      if (allowed == infinity) continue;
    }
    const bool overflow = is_overflow(row.contract.output, got, std::signbit(exact));
    if (overflow && overflows_rightly(row.contract, got, elements.value(i), allowed)) continue;
    if (is_overflow(row.contract.output, got, true) && elements.overflows(i)) continue;
    if (!said.decision) said.decision = decide_element(row, elements, i, quick, allowed);
    const Decision decision = *said.decision;
    const double used = std::isfinite(got) ? std::fabs(static_cast<double>(got - quick.value)) / allowed : infinity;
    const bool worse =
        !shown || severity(decision) > severity(worst.decision) || (decision == worst.decision && used > most_used);
    if (!worse) continue;
    shown = i;
    worst.decision = decision;
    most_used = used;
  }
  if (!shown) return;
  const PrecisionScope precision(113);
  worst.got = row.got[*shown];
  worst.threshold = threshold_of_result(row.contract, elements.threshold(*shown), worst.got);
  // For a row that passes, the shown value needs no more accuracy than the verdict, unless it would look like a
  // violation.
  const Quick quick = elements.quick(*shown);
  const bool close = worst.decision == Decision::proved && quick.error * 16 <= worst.threshold &&
                     quick.within(worst.threshold, worst.got) == Decision::proved;
  worst.expected = close ? enclosed(quick) : elements.value(*shown);
  if (extent != Extent::rows) worst.item = shown;
  worst.format = row.contract.output;
  verdicts.findings.push_back(std::move(worst));
}

double granted(const Contract& contract, RowElements& elements, std::size_t i) {
  const double allowed = elements.threshold(i);
  if (flushing_excess(contract) == 0) return allowed;
  const Enclosure value = enclosed(elements.quick(i));
  return most_granted(contract, allowed, value.lower_double(), value.upper_double());
}

bool is_narrow(const Enclosure& value) {
  double end = value.lower_double();
  for (int k = 0; k < 4; ++k) end = next_above(end);
  return value.upper_double() <= end;
}

Enclosure refined(const Enclosure& near, const std::function<Enclosure()>& value) {
  Enclosure best = near;
  for (const unsigned precision : std::array<unsigned, 2>{256, 512}) {
    if (is_narrow(best)) break;
    const PrecisionScope scope(precision);
    best = value();
  }
  return best;
}

}  // namespace softcheck::proptests
