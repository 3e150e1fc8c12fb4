#include "judge/ops/rows/row_scalar.hpp"

#include <cmath>
#include <optional>
#include <utility>

#include "judge/ops/rows/row_elements.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/flushed_output.hpp"

namespace softcheck::proptests {

using namespace numerics;

double allowed_of(const JudgedRow& row, const ScalarThreshold<UpperBound>& threshold) {
  return threshold_of_result(row.contract, upper(threshold.total()), row.got[0]);
}

double granted_scalar(const RowInputs& row, const ScalarThreshold<UpperBound>& threshold,
                      const std::function<Enclosure()>& near) {
  const double allowed = upper(threshold.total());
  if (flushing_excess(row.contract) == 0) return allowed;
  const PrecisionScope precision(113);
  const Enclosure value = near();
  return most_granted(row.contract, allowed, value.lower_double(), value.upper_double());
}

void judge_scalar(const JudgedRow& row, const RowScalar& scalar, RowVerdicts& verdicts) {
  const double got = row.got[0], allowed = allowed_of(row, scalar.threshold);
  const double magnitude = std::fabs(scalar.exact.midpoint());
  const bool promised = allowed < infinity;
  const bool vacuous = !promised || is_vacuous(upper(scalar.plain.rounding), magnitude);
  const bool counted = verdicts.vacuity.add(row.contract, magnitude, scalar.resolution, vacuous);
  verdicts.vacuity.add_row(!promised, scalar.resolved);
  if (!promised || (vacuous && std::isfinite(got))) {
    ResultLimits limits = scalar.limits;
    limits.may_overflow = limits.may_overflow || may_overflow(row);
    if (const auto found = broken_limit(scalar.claim, std::nullopt, row.contract, got, scalar.exact, limits)) {
      verdicts.findings.push_back(*found);
      return;
    }
  }
  if (!promised || overflows_rightly(row.contract, got, scalar.exact, allowed)) return;
  ValueFinding finding{scalar.claim, std::nullopt, scalar.exact, got, allowed, scalar.decision, {}, false};
  if (counted && std::isfinite(got)) {
    finding.errors.add(row.contract.output, scalar.exact.midpoint(), (Enclosure(got) - scalar.exact).midpoint(), 0,
                       allowed);
  }
  verdicts.findings.push_back(std::move(finding));
}

void enclose_scalar(const Enclosure& near, const RowInputs& row, Enclosure (RowOracle::*value)() const,
                    std::span<double> lower, std::span<double> upper) {
  const Enclosure best = refined(near, [&] { return (RowOracle(row.logits, row.theta).*value)(); });
  lower[0] = best.lower_double();
  upper[0] = best.upper_double();
}

}  // namespace softcheck::proptests
