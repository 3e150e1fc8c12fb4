#include "proptests/judge/value_certificate.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>

#include "numerics/rounding.hpp"
#include "numerics/special_values.hpp"
#include "numerics/ulp.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

// " error=3.4ulp(f32)", where both sides are numbers and the true one has a size.
std::string ulps_of(Format output, const Enclosure& exact, double got) {
  const double lower = exact.lower_double(), higher = exact.upper_double();
  if (!std::isfinite(got) || !std::isfinite(lower) || !std::isfinite(higher) || (lower <= 0 && higher >= 0)) return "";
  char text[60];
  std::snprintf(text, sizeof text, " error=%.4gulp(%s)", error_in_ulps(output, exact, got).upper_double(),
                std::string(properties(output).name).c_str());
  return text;
}

std::string enclosure_text(const Enclosure& exact) {
  const double lower = exact.lower_double(), upper = exact.upper_double();
  return lower == upper ? hex_float(lower) : "[" + hex_float(lower) + "," + hex_float(upper) + "]";
}

}  // namespace

int severity(Decision decision) { return decision == Decision::proved ? 0 : decision == Decision::undecided ? 1 : 2; }

Certificate value_certificate(const std::string& claim, const std::string& witness, const Enclosure& exact, double got,
                              double threshold, Decision decision, Format output) {
  Certificate result;
  result.claim = claim;
  result.left = std::isfinite(got) ? abs(Enclosure(got) - exact) : exact;
  result.relation = Relation::less_equal;
  result.right = Enclosure(std::isfinite(threshold) ? threshold : std::numeric_limits<double>::max());
  const bool positive = std::isfinite(got) && threshold > 0;
  result.slack = positive ? (result.left / result.right).upper_double() : decision == Decision::proved ? 0 : infinity;
  result.verdict = verdict_of(decision);
  result.precision = working_precision();
  result.witness =
      witness + " expected=" + enclosure_text(exact) + " got=" + hex_float(got) + ulps_of(output, exact, got);
  return result;
}

void ErrorSums::add(Format output, double exact, double error, std::size_t element) {
  const FormatProperties& format = properties(output);
  const double magnitude = std::fabs(exact);
  if (!(magnitude >= format.smallest_normal && magnitude <= format.largest && std::isfinite(error))) return;
  // 2^(floor(log2 |exact|) + 1 - precision), by the bits of the exponent.
  const std::uint64_t binade = std::bit_cast<std::uint64_t>(magnitude) & 0x7ff0'0000'0000'0000u;
  const double ulps = error / std::bit_cast<double>(binade) * std::ldexp(0.5, format.precision);
  ++values;
  total_ulps += ulps;
  if (!(std::fabs(ulps) > worst_ulps)) return;
  worst_ulps = std::fabs(ulps);
  worst_element = element;
}

double ValueFinding::share() const {
  if (by_identity || !std::isfinite(got)) return decision == Decision::proved ? 0 : infinity;
  const double error = abs(Enclosure(got) - expected).midpoint();
  return threshold > 0 ? error / threshold : decision == Decision::proved ? 0 : infinity;
}

Certificate certificate_of(const ValueFinding& finding, const std::string& witness, Format output) {
  std::string item = finding.item ? " item=" + std::to_string(*finding.item) : "";
  if (!finding.reason.empty()) item += " (" + std::string(finding.reason) + ")";
  if (finding.by_identity) {
    Certificate result;
    result.claim = finding.claim;
    result.witness = witness + item + " got=" + hex_float(finding.got);
    result.left = Enclosure(finding.decision == Decision::proved ? 0 : 1);
    result.right = Enclosure(0);
    result.slack = finding.decision == Decision::proved ? 0 : infinity;
    result.verdict = verdict_of(finding.decision);
    return result;
  }
  return value_certificate(std::string(finding.claim), witness + item, finding.expected, finding.got, finding.threshold,
                           finding.decision, output);
}

bool overflows_rightly(const Contract& contract, double got, const Enclosure& exact, double threshold) {
  if (!std::isinf(got)) return false;
  const Enclosure magnitude = got > 0 ? exact : -exact;
  const double allowed = std::isfinite(threshold) ? threshold : 0;
  return less(magnitude + Enclosure(allowed), Enclosure(infinity_from(contract.output))) != Decision::proved;
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

VacuityCount& VacuityCount::operator+=(const VacuityCount& other) {
  rows += other.rows;
  unbounded += other.unbounded;
  unresolved += other.unresolved;
  judged += other.judged;
  vacuous += other.vacuous;
  return *this;
}

}  // namespace softcheck::proptests
