#include "judge/verdict/value_certificate.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "numerics/enclosures/ulp.hpp"
#include "numerics/formats/next_double.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/rounding.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

// None if an end is not finite or the exact value may be 0.
std::optional<double> ulps_of(Format format, const Enclosure& exact, double got) {
  const double lower = exact.lower_double(), higher = exact.upper_double();
  const bool has_size = std::isfinite(lower) && std::isfinite(higher) && !(lower <= 0 && higher >= 0);
  if (!std::isfinite(got) || !has_size) return std::nullopt;
  return error_in_ulps(format, exact, got).upper_double();
}

// Makes the share agree with the verdict. Enclosures and the quotient's rounding can put it on the wrong side of 1, and
// a value that breaks a rule can be within its threshold.
double as_decided(const ValueFinding& finding, double share) {
  if (finding.decision == Decision::proved) return std::fmin(share, 1);
  if (finding.decision == Decision::undecided || share > 1) return share;
  return finding.reason.empty() ? next_above(1) : infinity;
}

}  // namespace

int severity(Decision decision) { return decision == Decision::proved ? 0 : decision == Decision::undecided ? 1 : 2; }

void ErrorSums::add(Format output, double exact, double error, std::size_t element, double allowed) {
  const FormatProperties& format = properties(output);
  const double magnitude = std::fabs(exact);
  if (!(magnitude >= format.smallest_normal && magnitude <= format.largest && std::isfinite(error))) return;
  if (!(allowed < magnitude)) return;
  // One ulp: 2^(floor(log2 |exact|) + 1 - precision), from the exponent bits.
  const std::uint64_t binade = std::bit_cast<std::uint64_t>(magnitude) & 0x7ff0'0000'0000'0000u;
  const double unit = std::bit_cast<double>(binade) * (2 * format.unit_roundoff), ulps = error / unit;
  ++values;
  total_ulps += ulps;
  if (!(std::fabs(ulps) > worst_ulps)) return;
  worst_ulps = std::fabs(ulps);
  worst_allowed = allowed / unit;
  worst_element = element;
}

double ValueFinding::share() const {
  if (by_identity || !std::isfinite(got)) return decision == Decision::proved ? 0 : infinity;
  const double error = abs(Enclosure(got) - expected).midpoint();
  return as_decided(*this, threshold > 0 ? error / threshold : decision == Decision::proved ? 0 : infinity);
}

Format format_of_ulps(const Contract& contract, Format output) {
  return properties(contract.accumulator).precision < properties(output).precision ? contract.accumulator : output;
}

Certificate certificate_of(const ValueFinding& finding, CallDescription asked, Format usual) {
  const Format format = finding.format.value_or(usual);
  Certificate result;
  result.claim = finding.claim;
  result.verdict = verdict_of(finding.decision);
  KernelEvidence evidence;
  evidence.asked = std::move(asked);
  if (!finding.reason.empty()) evidence.asked.remark += " (" + std::string(finding.reason) + ")";
  const bool proved = finding.decision == Decision::proved, finite = std::isfinite(finding.got);
  if (finding.by_identity) {
    result.left = Enclosure(proved ? 0 : 1);
    result.right = Enclosure(0);
    result.slack = proved ? 0 : infinity;
    evidence.value =
        ReportedValue{finding.item, std::nullopt, std::string(finding.due), finding.got, std::nullopt, format};
    evidence.value->is_index = finding.is_index;
    return with_evidence(std::move(result), std::move(evidence));
  }
  const Enclosure& exact = finding.expected;
  result.left = finite ? abs(Enclosure(finding.got) - exact) : exact;
  result.relation = Relation::less_equal;
  result.right = Enclosure(std::isfinite(finding.threshold) ? finding.threshold : std::numeric_limits<double>::max());
  const bool has_share = finite && finding.threshold > 0;
  const double share = has_share ? (result.left / result.right).upper_double() : proved ? 0 : infinity;
  result.slack = as_decided(finding, share);
  result.precision = working_precision();
  evidence.value = ReportedValue{
      finding.item,           exact, std::string(finding.due), finding.got, ulps_of(format, exact, finding.got), format,
      !finding.reason.empty()};
  return with_evidence(std::move(result), std::move(evidence));
}

bool overflows_rightly(const Contract& contract, double got, const Enclosure& exact, double threshold) {
  const bool negative = std::isnan(got) ? exact.midpoint() < 0 : std::signbit(got);
  if (!is_overflow(contract.output, got, negative)) return false;
  const Enclosure magnitude = negative ? -exact : exact, limit(infinity_from(contract.output));
  const double allowed =
      std::isfinite(threshold) ? error_before_output(contract, threshold, std::fmax(0, magnitude.lower_double())) : 0;
  const Enclosure most = magnitude + Enclosure(allowed);
  // With an infinity in the format, a value exactly halfway beyond the largest number rounds to it: ties go to even.
  const bool has_infinity = properties(contract.output).has_infinity;
  return (has_infinity ? less(most, limit) : less_equal(most, limit)) != Decision::proved;
}

bool VacuityCount::add(const Contract& contract, double magnitude, double resolution, bool is_vacuous) {
  if (!(magnitude >= properties(contract.output).smallest_normal && magnitude >= resolution)) return false;
  if (!(magnitude < overflow_limit(contract))) return false;
  ++judged;
  if (is_vacuous) ++vacuous;
  return true;
}

void VacuityCount::add_row(bool is_unbounded, bool is_resolved) {
  if (!is_resolved) {
    ++unresolved;
    return;
  }
  ++rows;
  if (is_unbounded) ++unbounded;
}

void VacuityCount::add_call(VacuityCount call) {
  constexpr std::size_t most = 1024;
  call.vacuous = std::min(call.vacuous, most);
  *this += call;
}

VacuityCount& VacuityCount::operator+=(const VacuityCount& other) {
  rows += other.rows;
  unbounded += other.unbounded;
  unresolved += other.unresolved;
  judged += other.judged;
  vacuous += other.vacuous;
  return *this;
}

}  // namespace softcheck::proptests
