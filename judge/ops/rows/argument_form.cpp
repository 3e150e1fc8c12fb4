#include "judge/ops/rows/argument_form.hpp"

#include <cmath>

namespace softcheck::proptests {

using namespace numerics;

namespace {

// The difference of two thresholds' constants, rounded downward; 0 if it is not positive.
double added(const ArgumentThreshold& more, const ArgumentThreshold& less) {
  const double difference = (more.constant - less.constant) * (1 - 0x1p-20);
  return std::isfinite(difference) && difference > 0 ? difference : 0;
}

}  // namespace

ArgumentThreshold with_magnitudes(const ArgumentForm& form, const Contract& contract, const Statistics& statistics) {
  ArgumentThreshold result = form.threshold(contract, statistics);
  // Coefficients have no such terms. The threshold is not affine for a rounded x / theta, or for logarithms inside an
  // entropy.
  const bool affine = form.value != ArgumentValue::coefficient &&
                      (statistics.theta == 1 || contract.theta == ThetaUse::fused) &&
                      (form.value != ArgumentValue::entropy || !contract.has_entropy_of_coefficients());
  if (!affine) return result;
  Statistics larger = statistics;
  larger.logsumexp_magnitude = UpperBound(1);
  result.per_value = added(form.threshold(contract, larger), result);
  larger = statistics;
  larger.maximum_magnitude = UpperBound(1);
  result.per_maximum = added(form.threshold(contract, larger), result);
  if (statistics.log_sum.value() > 0) return result;
  larger = statistics;
  larger.log_sum = UpperBound(1);
  result.per_log_sum = added(form.threshold(contract, larger), result);
  return result;
}

}  // namespace softcheck::proptests
