#include "numerics/filter/row_stages.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

namespace softcheck::numerics {

ElementTolerance ElementTolerance::within_ulps(Format format, double ulps) {
  ElementTolerance tolerance;
  tolerance.ulps = ulps;
  tolerance.format = format;
  return tolerance;
}

ElementTolerance ElementTolerance::within_relative(double relative, double per_deviation, double absolute,
                                                   double flushed) {
  ElementTolerance tolerance;
  tolerance.relative = relative;
  tolerance.per_deviation = per_deviation;
  tolerance.absolute = absolute;
  tolerance.flushed = flushed;
  return tolerance;
}

namespace stages {

JudgeParameters judge_parameters(const ElementTolerance& tolerance, double maximum, double theta) {
  for (double part :
       {tolerance.ulps, tolerance.relative, tolerance.per_deviation, tolerance.absolute, tolerance.flushed}) {
    if (!(part >= 0 && part <= ElementTolerance::largest_part)) {
      throw std::invalid_argument("ElementTolerance: every part must lie in [0, 2^200], got " + std::to_string(part));
    }
  }
  const FormatProperties& format = properties(tolerance.format);
  JudgeParameters parameters{};
  parameters.maximum = maximum;
  parameters.theta = theta;
  parameters.ulp_scale = std::ldexp(tolerance.ulps, 1 - format.precision);
  parameters.smallest_normal = format.smallest_normal;
  parameters.relative = tolerance.relative;
  parameters.per_deviation = tolerance.per_deviation;
  parameters.absolute = tolerance.absolute;
  parameters.flushed = tolerance.flushed;
  return parameters;
}

JudgeParameters filter_parameters(const FilterStatistics& statistics, const ElementTolerance& tolerance) {
  JudgeParameters parameters = judge_parameters(tolerance, statistics.maximum, statistics.theta);
  parameters.inverse_high = statistics.inverse_sum;
  parameters.error_constant = statistics.element_constant;
  parameters.error_deviation = statistics.element_per_deviation;
  // Two units for rounding the ends; exact values stay on their side of a power of two.
  parameters.margin_constant = statistics.element_constant == 0 ? 0 : 2 * unit;
  parameters.proof_constant = parameters.error_constant + parameters.margin_constant;
  return parameters;
}

void require_theta(const char* function, double theta) {
  if (!(theta >= 0x1p-1000 && theta <= 0x1p1000)) {
    throw std::invalid_argument(std::string(function) + ": theta must lie in [2^-1000, 2^1000], got " +
                                std::to_string(theta));
  }
}

void require_size(const char* function, std::size_t size) {
  if (size > std::size_t{1} << 30) {
    throw std::invalid_argument(std::string(function) + ": at most 2^30 logits, got " + std::to_string(size));
  }
}

void require_judgeable(const char* function, std::size_t size, std::size_t visible, std::size_t logits,
                       std::size_t got) {
  if (size != logits || size != got) {
    throw std::invalid_argument(std::string(function) + ": sizes must agree, got a row of " + std::to_string(size) +
                                ", " + std::to_string(logits) + " logits and " + std::to_string(got) + " values");
  }
  if (visible == 0) {
    throw std::invalid_argument(std::string(function) + ": needs a visible item, got a fully masked row");
  }
}

}  // namespace stages
}  // namespace softcheck::numerics
