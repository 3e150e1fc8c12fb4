#include "proptests/judge/ops/row_scalar.hpp"

#include <cmath>
#include <optional>
#include <utility>

#include "numerics/formats/special_values.hpp"
#include "proptests/judge/ops/row_elements.hpp"

namespace softcheck::proptests {

using namespace numerics;

void judge_scalar(const JudgedRow& row, const RowScalar& scalar, RowVerdicts& verdicts) {
  const double got = row.got[0], allowed = upper(scalar.threshold.total());
  const double magnitude = std::fabs(scalar.exact.midpoint());
  const bool promised = allowed < infinity;
  const bool counted = verdicts.vacuity.add(row.contract, magnitude, scalar.resolution,
                                            !promised || is_vacuous(upper(scalar.plain.rounding), magnitude));
  verdicts.vacuity.add_row(!promised, scalar.resolved);
  if (const auto found = infinite_value(scalar.claim, std::nullopt, row.contract, got, scalar.exact);
      found && !promised) {
    verdicts.findings.push_back(*found);
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
