#include "proptests/judge/value_certificate.hpp"

#include <cmath>
#include <cstdio>
#include <limits>

#include "numerics/rounding.hpp"
#include "numerics/ulp.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

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

bool overflows_rightly(const Contract& contract, double got, const Enclosure& exact, double threshold) {
  if (!std::isinf(got)) return false;
  if (threshold == infinity) return true;
  const Enclosure magnitude = got > 0 ? exact : -exact;
  return less(magnitude + Enclosure(threshold), Enclosure(overflow_limit(contract))) != Decision::proved;
}

void VacuityCount::add(const Contract& contract, double magnitude, double resolution, bool is_vacuous) {
  if (!(magnitude >= properties(contract.output).smallest_normal && magnitude >= resolution)) return;
  if (!(magnitude < overflow_limit(contract))) return;
  ++judged;
  if (is_vacuous) ++vacuous;
}

VacuityCount& VacuityCount::operator+=(const VacuityCount& other) {
  judged += other.judged;
  vacuous += other.vacuous;
  return *this;
}

}  // namespace softcheck::proptests
